extern crate std;

use super::*;

fn buffer(max_len: usize) -> RowBuffer {
    let spectrum = Spectrum::new(8, 100.0).unwrap();
    RowBuffer::new(spectrum.into(), max_len, &Device::flex()).unwrap()
}

fn rows(buffer: &RowBuffer, lookup: &Lookup) -> Vec<f32> {
    let rows = buffer.rows(lookup, FloatDType::F32).unwrap();
    rows.into_data().iter().collect()
}

fn len(buffer: &RowBuffer) -> Option<usize> {
    buffer.grown.read().as_ref().map(|grown| grown.len)
}

#[test]
fn it_doubles_for_itself_and_its_clones_and_keeps_the_bits() {
    let buffer = buffer(10);
    let clone = buffer.clone();
    assert_eq!(len(&clone), None);
    for (start, seq, expected) in [(8, 2, None), (8, 3, Some(20)), (70, 7, Some(80))] {
        let exact: Vec<f32> = buffer.spectrum().rows(start..start + seq).unwrap();
        assert_eq!(rows(&buffer, &Lookup::run(start, seq)), exact);
        assert_eq!((len(&buffer), len(&clone)), (expected, expected));
    }
    let exact: Vec<f32> = buffer.spectrum().rows_at(&[79, 3]).unwrap();
    assert_eq!(rows(&clone, &Lookup::ids(vec![79, 3], 1, 2)), exact);
    assert_eq!(len(&buffer), Some(80));
}

#[test]
fn it_grows_to_a_bound_and_positions_past_it_are_computed() {
    let buffer = buffer(10);
    let most = GROWS_UP_TO / 32;
    let far = MAX - 5;
    const MAX: usize = crate::MAX_POSITION;
    for start in [most, far] {
        let exact: Vec<f32> = buffer.spectrum().rows(start..start + 2).unwrap();
        assert_eq!(rows(&buffer, &Lookup::run(start, 2)), exact);
        assert_eq!(len(&buffer), None);
    }
    assert_eq!(buffer.growth(most), Some(most));
    assert_eq!(buffer.growth(most + 1), None);
}

#[test]
fn it_does_not_grow_past_the_last_position_of_high_frequencies() {
    let fast = crate::Formula::Diffusers {
        flip_sin_to_cos: false,
        downscale_freq_shift: 1.0,
        scale: 1e12,
        max_period: 10.0,
    };
    let spectrum = Spectrum::new(4, fast).unwrap();
    let last = spectrum.max_position();
    let buffer = RowBuffer::new(spectrum.into(), 3_000, &Device::flex()).unwrap();
    assert_eq!(last, 4_503);
    assert_eq!(rows(&buffer, &Lookup::run(last, 1)).len(), 4);
    assert_eq!(len(&buffer), Some(last + 1));
    let beyond = buffer.rows(&Lookup::run(last + 1, 1), FloatDType::F32);
    assert!(matches!(beyond, Err(PositionError::Overflow { .. })));
}

#[test]
fn threads_that_grow_it_at_the_same_time_see_the_same_rows() {
    let buffer = buffer(4);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let buffer = buffer.clone();
            scope.spawn(move || {
                for start in (thread..4_000).step_by(97) {
                    let exact: Vec<f32> = buffer.spectrum().rows(start..start + 3).unwrap();
                    assert_eq!(rows(&buffer, &Lookup::run(start, 3)), exact);
                }
            });
        }
    });
    assert_eq!(len(&buffer), Some(4_096));
}

#[test]
fn on_another_device_it_grows_again() {
    let buffer = buffer(4);
    rows(&buffer, &Lookup::run(10, 1));
    let moved = Module::to_device(buffer.clone(), &Device::flex());
    assert_eq!((len(&buffer), len(&moved)), (Some(16), None));
}
