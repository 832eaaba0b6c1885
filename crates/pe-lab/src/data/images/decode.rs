//! Decodes PNG and JPEG files, and brings them to a size.

use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind};
use std::path::Path;

use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgba};

use super::super::limits::MAX_BYTES;
use super::super::quote::grouped;
use super::size::Size;
use crate::door::bytes_of;

/// The most pixels of an image file: 50 million, such as 8,660 × 5,773.
const MAX_PIXELS: u64 = 50_000_000;
/// The most bytes that decoding an image may take: 8 for each of those pixels, and some.
const MAX_MEMORY: u64 = 512 << 20;

/// What the beginning of an image file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Height and width as the image is shown.
    pub size: Size,
    pub is_coloured: bool,
    /// Whether it has transparent parts.
    pub is_transparent: bool,
}

/// Reads the beginning of an image file. Nothing is decoded.
pub(super) fn header(path: &Path) -> Result<Header, String> {
    let mut decoder = decoder(path)?;
    let (width, height) = decoder.dimensions();
    let turned = decoder.orientation().map_err(said)?;
    // Orientations of EXIF from 5 on exchange height and width.
    let size = match turned.to_exif() >= 5 {
        true => [width as usize, height as usize],
        false => [height as usize, width as usize],
    };
    let colour = decoder.color_type();
    Ok(Header {
        size,
        is_coloured: colour.has_color(),
        is_transparent: colour.has_alpha(),
    })
}

/// Decodes an image, turned as it is shown.
pub(super) fn decode(path: &Path) -> Result<DynamicImage, String> {
    let mut decoder = decoder(path)?;
    let turned = decoder.orientation().map_err(said)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(said)?;
    image.apply_orientation(turned);
    if image.has_alpha() {
        image = on_white(&image);
    }
    Ok(image)
}

/// The pixels of an image at a size, row by row, one byte for grey and three for colours. The image is scaled
/// until it covers the size, and what sticks out on two sides is cut off evenly.
pub(super) fn at_size(image: &DynamicImage, [height, width]: Size, coloured: bool) -> Vec<u8> {
    let is_there = (image.height() as usize, image.width() as usize) == (height, width);
    let scaled = match is_there {
        true => None,
        false => Some(image.resize_to_fill(width as u32, height as u32, FilterType::Triangle)),
    };
    let scaled = scaled.as_ref().unwrap_or(image);
    match coloured {
        true => scaled.to_rgb8().into_raw(),
        false => scaled.to_luma8().into_raw(),
    }
}

/// Opens a file, and checks its size before anything is decoded.
fn decoder(path: &Path) -> Result<impl ImageDecoder, String> {
    let bytes = bytes_of_file(path)?;
    // What a file holds is told by its first bytes, not by its name.
    let format = match image::guess_format(&bytes) {
        Ok(ImageFormat::Png) => ImageFormat::Png,
        // The decoder fills what is missing of a cut file with grey.
        Ok(ImageFormat::Jpeg) if !is_whole(&bytes) => {
            return Err("is a JPEG file that breaks off before its end".into());
        }
        Ok(ImageFormat::Jpeg) => ImageFormat::Jpeg,
        Ok(other) => {
            return Err(format!(
                "is {}; PNG and JPEG files are read",
                other.to_mime_type()
            ));
        }
        Err(_) => return Err("is neither a PNG nor a JPEG file".into()),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(said)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!(
            "says that it has {} × {} pixels (width × height), more than the {} in all that are decoded",
            grouped(width as usize),
            grouped(height as usize),
            grouped(MAX_PIXELS as usize)
        ));
    }
    if width == 0 || height == 0 {
        return Err(format!("has no pixels: {width} × {height}"));
    }
    Ok(decoder)
}

fn bytes_of_file(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::InvalidData => format!(
            "has more than the {} bytes that are read",
            grouped(MAX_BYTES as usize)
        ),
        _ => error.to_string(),
    };
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("is not a file".into());
    }
    let bytes = File::open(path).and_then(|file| bytes_of(file, MAX_BYTES));
    match bytes.map_err(unreadable)? {
        empty if empty.is_empty() => Err("is empty".into()),
        bytes => Ok(bytes),
    }
}

/// Whether the end marker of a JPEG file (0xFFD9) comes after the start of its last scan (0xFFDA).
fn is_whole(bytes: &[u8]) -> bool {
    let last = |marker: u8| bytes.windows(2).rposition(|pair| pair == [0xff, marker]);
    last(0xda).is_some_and(|scan| last(0xd9).is_some_and(|end| end > scan))
}

fn on_white(image: &DynamicImage) -> DynamicImage {
    let is_coloured = image.color().has_color();
    let mut pixels = image.to_rgba8();
    for Rgba([red, green, blue, alpha]) in pixels.pixels_mut() {
        for part in [red, green, blue] {
            let (over, ground) = (u32::from(*part), 255 - u32::from(*alpha));
            *part = ((over * u32::from(*alpha) + 255 * ground + 127) / 255) as u8;
        }
        *alpha = 255;
    }
    let image = DynamicImage::ImageRgba8(pixels);
    match is_coloured {
        true => DynamicImage::ImageRgb8(image.to_rgb8()),
        false => DynamicImage::ImageLuma8(image.to_luma8()),
    }
}

fn said(error: image::ImageError) -> String {
    format!("cannot be decoded: {error}")
}
