//! Products as new matrices, and how rows are divided between threads.

use std::mem::MaybeUninit;

use multiversion::multiversion;
pub use pe_burn::matrix::{Matrix, add_product, add_spaced_product, put_product, set_product};
use pe_burn::threads;

/// The least rows of a chunk.
const LEAST: usize = 64;

/// The number of rows of a chunk: an eighth of all, so that there is work for every thread, but at least 64, so that a matrix
/// product is worth its overhead.
///
/// It does not depend on the number of threads. Each chunk is summed on its own and the sums are
/// added in the order of the chunks, so the result does not depend on it either.
pub fn rows_per_chunk(rows: usize) -> usize {
    rows.div_ceil(8).max(LEAST)
}

/// The number of rows that a thread takes at a time for products that are not summed: one chunk, or several where there are
/// few threads, since with more rows a product packs the other matrix less often. Each thread has two turns or more.
///
/// `widest` is the number of columns of the widest matrix of these rows, and `sums` that of the elements that are summed for
/// each chunk; what a thread works on stays in its second cache.
pub fn rows_at_a_time(rows: usize, widest: usize, sums: usize) -> usize {
    /// 1 MiB and 4 MiB, in elements.
    const MOST: [usize; 2] = [1 << 18, 1 << 20];
    let chunk = rows_per_chunk(rows);
    // In fewer rows the last chunk may be so small that `gemm` sums in another order, and results would depend on the number
    // of threads.
    if rows < 9 * LEAST {
        return chunk;
    }
    let turns = rows.div_ceil(chunk) / (2 * threads::count());
    let chunks = turns
        .min(MOST[0] / (chunk * widest).max(1))
        .min(MOST[1] / sums.max(1));
    chunk * chunks.max(1)
}

/// Memory that is not yet initialized.
pub type New<'a> = &'a mut [MaybeUninit<f32>];

/// A vector of `len` elements that `write` initializes.
///
/// # Safety
///
/// `write` initializes every element.
pub unsafe fn initialized(len: usize, write: impl FnOnce(New<'_>)) -> Vec<f32> {
    // `vec![0.0; len]` would cost one more pass over the memory.
    let mut values = Vec::with_capacity(len);
    write(&mut values.spare_capacity_mut()[..len]);
    // SAFETY: the caller promises that the first `len` elements are initialized.
    unsafe { values.set_len(len) };
    values
}

/// As [`initialized`], two vectors at a time.
///
/// # Safety
///
/// `write` initializes every element of both.
pub unsafe fn both_initialized(
    [first, second]: [usize; 2],
    write: impl FnOnce(New<'_>, New<'_>),
) -> [Vec<f32>; 2] {
    let mut values = [first, second].map(Vec::with_capacity);
    let [of_first, of_second] = values.each_mut().map(Vec::spare_capacity_mut);
    write(&mut of_first[..first], &mut of_second[..second]);
    for (values, len) in values.iter_mut().zip([first, second]) {
        // SAFETY: the caller promises that the first `len` elements are initialized.
        unsafe { values.set_len(len) };
    }
    values
}

/// `a b` as a new dense matrix.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn product(a: Matrix, b: Matrix) -> Vec<f32> {
    let ([rows, _], [_, columns]) = (a.shape(), b.shape());
    let write = |out: New<'_>| set_product(out, columns, 1.0, a, b);
    // SAFETY: the product initializes its rows × columns elements, and there are no others.
    unsafe { initialized(rows * columns, write) }
}

/// `aᵀ b` of each chunk of so many rows of both, matrices of so many columns.
pub fn products_of_chunks<'a>(
    chunk: usize,
    (a, of_a): (&'a [f32], usize),
    (b, of_b): (&'a [f32], usize),
) -> impl Iterator<Item = Vec<f32>> + use<'a> {
    let chunks = a.chunks(chunk * of_a).zip(b.chunks(chunk * of_b));
    chunks.map(move |(a, b)| product(Matrix::dense(a, of_a).t(), Matrix::dense(b, of_b)))
}

/// If the parts of a chunk have at most this many elements, the parts of all chunks are computed before they are added
/// up.
const SMALL: usize = 1 << 17;

/// The sums of what `parts` returns for each chunk, vectors of these lengths, added in the order of the chunks. It is called
/// with one chunk or several that follow each other.
///
/// If they are large, it is called only as often as there are threads before what it returned is added: a part of the
/// gradient of a weight is as large as the weight, and there are eight parts.
///
/// # Panics
///
/// When there is no chunk. (The modules never call a kernel with an empty input.)
pub fn sums_of<C: Send, const N: usize>(
    mut chunks: impl Iterator<Item = C>,
    lens: [usize; N],
    parts: impl Fn(C) -> Vec<[Vec<f32>; N]> + Sync,
) -> [Vec<f32>; N] {
    let at_a_time = match lens.iter().sum::<usize>() <= SMALL {
        true => usize::MAX,
        false => threads::count(),
    };
    let mut sums: Option<[Vec<f32>; N]> = None;
    loop {
        let some: Vec<C> = chunks.by_ref().take(at_a_time).collect();
        if some.is_empty() {
            return sums.expect("at least one chunk");
        }
        for part in each(some.into_iter(), &parts).into_iter().flatten() {
            let Some(sums) = &mut sums else {
                sums = Some(part);
                continue;
            };
            for (sum, part) in sums.iter_mut().zip(&part) {
                add_rows(sum, part);
            }
        }
    }
}

/// What `part` returns for each item, in the order of the items, which are divided between threads.
pub fn each<I: Send, T: Send>(
    items: impl ExactSizeIterator<Item = I> + Send,
    part: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let mut parts: Vec<Option<T>> = (0..items.len()).map(|_| None).collect();
    threads::for_each(items.zip(&mut parts), |(item, to)| *to = Some(part(item)));
    parts.into_iter().flatten().collect()
}

/// The sum of each column of a dense matrix.
pub fn column_sums(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    add_rows(&mut sums, rows);
    sums
}

/// Adds every row of a dense matrix to `sums`, which is as long as a row.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn add_rows(sums: &mut [f32], rows: &[f32]) {
    let columns = sums.len().max(1);
    let mut start = 0;
    while start < rows.len() {
        let row = &rows[start..start + columns];
        for i in 0..columns {
            sums[i] += row[i];
        }
        start += columns;
    }
}
