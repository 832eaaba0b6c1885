//! Work on several threads where there are any: rayon's with the feature `std`, else none.

/// Does both, at the same time where that is possible and pays.
pub(crate) fn join<A: Send, B: Send>(
    pays: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "std")]
    if pays {
        return rayon::join(a, b);
    }
    #[cfg(not(feature = "std"))]
    let _ = pays;
    (a(), b())
}

/// Calls `work` with every chunk of `len` entries, the last one shorter, and its number.
pub(crate) fn for_each_chunk<T: Send>(
    entries: &mut [T],
    len: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if entries.len() <= len {
        work(0, entries);
        return;
    }
    #[cfg(feature = "std")]
    {
        use rayon::prelude::*;
        let chunks = entries.par_chunks_mut(len).enumerate();
        chunks.for_each(|(i, chunk)| work(i, chunk));
    }
    #[cfg(not(feature = "std"))]
    for (i, chunk) in entries.chunks_mut(len).enumerate() {
        work(i, chunk);
    }
}
