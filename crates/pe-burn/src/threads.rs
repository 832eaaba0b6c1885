//! Work on several threads where there are any: rayon's with the feature `std`, else none.
//!
//! The thread that calls takes part. Rayon's own `join` and iterators would put it to sleep and wake
//! two of theirs, of which the system runs both on one core for the first milliseconds.

/// Does both, at the same time where that is possible and pays.
pub(crate) fn join<A: Send, B: Send>(
    pays: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "std")]
    if pays && rayon::current_num_threads() > 1 {
        let mut of_b = None;
        let of_a = rayon::in_place_scope(|scope| {
            scope.spawn(|_| of_b = Some(b()));
            a()
        });
        return (of_a, of_b.expect("done when the scope ends"));
    }
    #[cfg(not(feature = "std"))]
    let _ = pays;
    (a(), b())
}

/// Calls `work` with every item, whoever is free with the next one.
pub(crate) fn for_each<I: ExactSizeIterator + Send>(items: I, work: impl Fn(I::Item) + Sync) {
    #[cfg(feature = "std")]
    {
        let others = match items.len() {
            0 | 1 => 0,
            len => (len - 1).min(rayon::current_num_threads() - 1),
        };
        if others > 0 {
            let items = std::sync::Mutex::new(items);
            let next = || {
                items
                    .lock()
                    .expect("an iterator that does not panic")
                    .next()
            };
            let take = || {
                while let Some(item) = next() {
                    work(item);
                }
            };
            rayon::in_place_scope(|scope| {
                (0..others).for_each(|_| scope.spawn(|_| take()));
                take();
            });
            return;
        }
    }
    items.for_each(work);
}
