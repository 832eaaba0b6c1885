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
    let message = refused(&root);
    says(
        &message,
        &[
            "3 files cannot be used",
            "above/broken.jpg is a JPEG file that breaks off before its end",
            "below/empty.png is empty",
            "below/notes.txt is neither a PNG nor a JPEG file",
            "--skip-bad 3",
        ],
    );
    let skip = |skip_bad| {
        let reading = Reading {
            skip_bad,
            ..Reading::default()
        };
        read(&root, reading)
    };
    // The beginning of the fourth is whole, so it is only seen when it is decoded.
    let message = skip(3).unwrap_err();
    assert!(message.contains("4 files cannot be used"), "{message}");
    says(&message, &["below/cut.png cannot be decoded"]);
    let data = skip(4).unwrap();
    let said = data.describe().join("\n");
    assert!(said.contains("40 images"), "{said}");
    says(&said, &["files left out because they cannot be used: 4"]);
    says(&said, &["hidden files, which are not read: 1"]);
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
    let message = refused(&root);
    says(
        &message,
        &["above/huge.png says that it has 60,000 × 60,000 pixels"],
    );
    assert!(message.contains("more than the 50,000,000"), "{message}");
    // With a size that is allowed, the pixels are missing.
    fs::write(root.join("above/huge.png"), claims(5_000)).unwrap();
    let message = refused(&root);
    says(&message, &["above/huge.png cannot be decoded"]);
}

#[test]
fn folders_without_something_to_learn_are_refused() {
    let whole = tempfile::tempdir().unwrap();
    let root = whole.path().join("data");
    fs::create_dir(&root).unwrap();
    assert!(
        refused(&root).contains("holds no folder"),
        "{}",
        refused(&root)
    );
    fs::create_dir(root.join("above")).unwrap();
    let message = refused(&root);
    says(&message, &["the folder `above` of a class holds no image"]);
    bar(0, 1, [8, 8]).save(root.join("above/1.png")).unwrap();
    assert!(
        refused(&root).contains("in one folder, `above`"),
        "{}",
        refused(&root)
    );
    drawn(&root, 4, [8, 8]);
    assert!(
        refused(&root).contains("has 9 images, too few"),
        "{}",
        refused(&root)
    );
    drawn(&root, 12, [8, 8]);
    fs::create_dir(root.join("alone")).unwrap();
    bar(0, 77, [8, 8]).save(root.join("alone/1.png")).unwrap();
    let message = refused(&root);
    says(&message, &["every class needs two different images"]);
    assert!(message.contains("`alone` has 1"), "{message}");
    // Twice the same image is no second one.
    bar(0, 77, [8, 8]).save(root.join("alone/2.png")).unwrap();
    assert!(
        refused(&root).contains("`alone` has 1"),
        "{}",
        refused(&root)
    );
    fs::write(root.join("list.txt"), "x").unwrap();
    let message = refused(&root);
    says(&message, &["holds the file `list.txt` and the folders"]);
    // Flags of other data.
    for (reading, flag) in [
        (
            Reading {
                label: Some("x".into()),
                ..Reading::default()
            },
            "--label",
        ),
        (
            Reading {
                no_beyond: true,
                ..Reading::default()
            },
            "--no-beyond",
        ),
    ] {
        assert!(read(&root, reading).unwrap_err().contains(flag), "{flag}");
    }
    let table = whole.path().join("rows.csv");
    fs::write(&table, "label,text\na,b\n").unwrap();
    let reading = Reading {
        patch: Some(4),
        ..Reading::default()
    };
    let message = read(&table, reading).unwrap_err();
    says(&message, &["the tokens of this file are no numbers"]);
}
