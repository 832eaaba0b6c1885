//! What a sinusoidal encoding is made of, without a tensor.

use pe_burn::{PositionError, Spectrum};

fn main() -> Result<(), PositionError> {
    let spectrum = Spectrum::new(8, 10_000.0)?;

    println!("the encoding of width 8 is four pairs of a sine and a cosine:");
    for (i, (frequency, wavelength)) in spectrum
        .frequencies()
        .iter()
        .zip(spectrum.wavelengths())
        .enumerate()
    {
        println!(
            "  pair {i}: {frequency:.4} radians per position, a turn in {wavelength:.1} positions"
        );
    }

    println!("\nthe first positions:");
    for (position, row) in spectrum.rows::<f64>(0..4)?.chunks(8).enumerate() {
        let row: Vec<String> = row.iter().map(|entry| format!("{entry:8.4}")).collect();
        println!("  {position}: {}", row.join(" "));
    }

    println!("\nhow alike two positions are depends on their distance alone:");
    for offset in [0, 1, 2, 4, 8, 16, 64] {
        println!("  {offset:2} apart: {:.4}", spectrum.similarity(offset)?);
    }

    let here = spectrum.rows::<f64>(7..8)?;
    let there = spectrum.rows::<f64>(107..108)?;
    let matrix = spectrum.shift_matrix(100)?;
    let errors = matrix.iter().zip(&there).map(|(line, exact)| {
        let shifted: f64 = line.iter().zip(&here).map(|(r, x)| r * x).sum();
        (shifted - exact).abs()
    });
    let error = errors.fold(0.0, f64::max);
    println!(
        "\na shift by 100 is one rotation for every position: it takes PE(7) to PE(107) within {error:.0e}"
    );
    Ok(())
}
