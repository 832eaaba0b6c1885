//! Images and folders that cannot be used.

use super::*;

#[test]
fn what_cannot_be_used_is_named_and_can_be_left_out() {
    let (_keep, root) = folder(20, [16, 16]);
    let whole = {
        let path = root.join("whole.jpg");
        bar(0, 7, [16, 16]).save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(path).unwrap();
        bytes
    };
    fs::write(root.join("above/broken.jpg"), &whole[..whole.len() - 20]).unwrap();
    fs::write(root.join("above/.hidden"), "x").unwrap();
    fs::write(root.join("below/empty.png"), "").unwrap();
    fs::write(root.join("below/notes.txt"), "a list").unwrap();
    let mut cut = fs::read(root.join("below/000.png")).unwrap();
    cut.truncate(cut.len() / 2);
    fs::write(root.join("below/cut.png"), cut).unwrap();
    refused(&root).says_all(&[
        "3 files cannot be used",
        "above/broken.jpg is a JPEG file that breaks off before its end",
        "below/empty.png is empty",
        "below/notes.txt is neither a PNG nor a JPEG file",
        "--skip-bad 3",
    ]);
    // The beginning of the fourth is whole, so it is only seen when it is decoded.
    let message = read(&root, "skip_bad = 3").unwrap_err();
    let cut = "below/cut.png cannot be decoded";
    message.says_all(&["4 files cannot be used", cut]);
    tells(&read(&root, "skip_bad = 4").unwrap()).says_all(&[
        "40 images",
        "files left out because they cannot be used: 4",
        "hidden files and studies, which are not read: 1",
    ]);
}

/// A PNG file whose header claims a size that its pixels do not have.
fn claims(side: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut cursor = std::io::Cursor::new(&mut bytes);
    let image = DynamicImage::from(bar(0, 0, [8, 8]));
    image.write_to(&mut cursor, ImageFormat::Png).unwrap();
    // Signature, length and name of the first chunk, then width and height, and the checksum of both.
    bytes[16..20].copy_from_slice(&side.to_be_bytes());
    bytes[20..24].copy_from_slice(&side.to_be_bytes());
    let checksum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The checksum of a chunk of a PNG file (CRC-32, ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    !crc
}

#[test]
fn a_claimed_size_takes_no_memory() {
    let (_keep, root) = folder(20, [16, 16]);
    fs::write(root.join("above/huge.png"), claims(60_000)).unwrap();
    let huge = "above/huge.png says that it has 60,000 × 60,000 pixels";
    refused(&root).says_all(&[huge, "more than the 50,000,000"]);
    // With a size that is allowed, the pixels are missing.
    fs::write(root.join("above/huge.png"), claims(5_000)).unwrap();
    refused(&root).says("above/huge.png cannot be decoded");
}

#[test]
fn folders_without_something_to_learn_are_refused() {
    let (whole, root) = temporary("data");
    fs::create_dir(&root).unwrap();
    refused(&root).says("holds no folder");
    fs::create_dir(root.join("above")).unwrap();
    refused(&root).says("the folder `above` of a class holds no image");
    bar(0, 1, [8, 8]).save(root.join("above/1.png")).unwrap();
    refused(&root).says("in one folder, `above`");
    drawn(&root, 4, [8, 8]);
    refused(&root).says("has 9 images, too few");
    drawn(&root, 12, [8, 8]);
    fs::create_dir(root.join("alone")).unwrap();
    bar(0, 77, [8, 8]).save(root.join("alone/1.png")).unwrap();
    let two = "every class needs two different images";
    refused(&root).says_all(&[two, "`alone` has 1"]);
    // Twice the same image is no second one.
    bar(0, 77, [8, 8]).save(root.join("alone/2.png")).unwrap();
    refused(&root).says("`alone` has 1");
    fs::write(root.join("list.txt"), "x").unwrap();
    refused(&root).says("holds the file `list.txt` and the folders");
    // Flags of other data.
    for (settings, flag) in [
        ("label = 'x'", "--label"),
        ("no_beyond = true", "--no-beyond"),
    ] {
        read(&root, settings).unwrap_err().says(flag);
    }
    let table = whole.path().join("rows.csv");
    fs::write(&table, "label,text\na,b\n").unwrap();
    let message = read(&table, "patch = 4").unwrap_err();
    message.says("the tokens of this file are no numbers");
}
