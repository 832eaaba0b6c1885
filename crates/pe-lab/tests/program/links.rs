//! Links, pipes and second names in the place of the files of a study: none is read, written or waited for.

use crate::rows;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{
    self, Says, end_of, ended_in_time as ended, merge, pipe, report, resume, send, train_digits,
    wait_until,
};

const TRIAL: &str = "trials/digits-learned-1";

fn study(out: &Path) -> Command {
    common::digits("--schemes none,learned --seeds 1 --steps 3 --quiet", out)
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// What no study may touch: a private file, and a folder with files of the names of a trial's.
struct Others {
    secret: PathBuf,
    folder: PathBuf,
}

impl Others {
    fn of(place: &Path) -> Self {
        let (secret, folder) = (place.join("secret"), place.join("others"));
        fs::write(&secret, "secret").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(&folder).unwrap();
        for name in "spec.json failure.json curve.json weights.bpk worker.log".split(' ') {
            fs::write(folder.join(name), "mine").unwrap();
        }
        Self { secret, folder }
    }

    fn check(&self, what: &str) {
        assert_eq!(fs::read(&self.secret).unwrap(), b"secret", "{what}");
        let names = fs::read_dir(&self.folder).unwrap();
        let texts = names.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        assert_eq!(texts.collect::<Vec<_>>(), ["mine"; 5], "{what}");
    }
}

/// Puts something else in the place of a file.
fn instead(file: &Path, put: impl FnOnce(&Path)) {
    match fs::symlink_metadata(file) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(file).unwrap(),
        Ok(_) => fs::remove_file(file).unwrap(),
        Err(_) => fs::create_dir_all(file.parent().unwrap()).unwrap(),
    }
    put(file);
}

#[test]
fn merge_copies_no_file_from_outside_of_a_part() {
    let folder = tempfile::tempdir().unwrap();
    let others = Others::of(folder.path());
    let whole = folder.path().join("whole");
    assert_eq!(ended(&mut study(&whole)).0, 0);
    let (part, merged) = (folder.path().join("part"), folder.path().join("merged"));
    let zero = PathBuf::from("/dev/zero");
    for name in ["spec.json", "result.json", "encoding.csv", "weights.bpk"] {
        let ways: [&dyn Fn(&Path); 4] = [
            &|file| symlink(&others.secret, file).unwrap(),
            &|file| symlink(&zero, file).unwrap(),
            &|file| fs::hard_link(&others.secret, file).unwrap(),
            &pipe,
        ];
        for (way, put) in ways.into_iter().enumerate() {
            for place in [&part, &merged] {
                let _ = fs::remove_dir_all(place);
            }
            copy(&whole, &part);
            instead(&part.join(TRIAL).join(name), put);
            let (code, said) = ended(&mut merge(&[&part], &merged));
            assert_eq!(code, 1, "{name}, way {way}: {said}");
            said.says_all(&[name, "digits-learned-1"]);
            assert!(!merged.join(TRIAL).join(name).exists(), "{name}, way {way}");
            others.check(name);
        }
    }
}

#[test]
fn a_study_writes_nothing_outside_of_its_folder_and_waits_for_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let others = Others::of(folder.path());
    let whole = folder.path().join("whole");
    assert_eq!(ended(&mut study(&whole)).0, 0);
    let out = folder.path().join("study");
    let link: &dyn Fn(&Path) = &|file| symlink(&others.folder, file).unwrap();
    let to_file: &dyn Fn(&Path) = &|file| symlink(&others.secret, file).unwrap();
    let second: &dyn Fn(&Path) = &|file| fs::hard_link(&others.secret, file).unwrap();
    // The last says whether the study does without the file: it is put in the place of one that the study writes.
    for (name, put, code) in [
        ("trials/digits-none-1", link, 1),
        ("trials", link, 1),
        ("study.lock", to_file, 1),
        ("study.lock", second, 1),
        ("study.lock", &pipe as &dyn Fn(&Path), 1),
        ("study.json", &pipe, 1),
        ("study.json", second, 1),
        ("study.toml", &pipe, 0),
        ("study.toml", second, 0),
        ("report.html", second, 0),
        ("summary.json", &pipe, 0),
        ("trials/digits-none-1/result.json", &pipe, 1),
        ("trials/digits-none-1/worker.log", &pipe, 1),
        ("trials/digits-none-1/worker.log", second, 1),
        ("trials/digits-none-1/worker.log", to_file, 1),
        ("trials/digits-none-1/failure.json", second, 0),
        ("trials/digits-none-1/curve.json", &pipe, 0),
    ] {
        let _ = fs::remove_dir_all(&out);
        copy(&whole, &out);
        if name.starts_with("trials/digits-none-1/") && !name.ends_with("result.json") {
            fs::remove_file(out.join("trials/digits-none-1/result.json")).unwrap();
        }
        instead(&out.join(name), put);
        let (ended, said) = ended(&mut study(&out));
        assert_eq!(ended, code, "{name}: {said}");
        assert!(
            code == 0 || said.contains(name.rsplit('/').next().unwrap()),
            "{name}: {said}"
        );
        others.check(name);
    }
}

#[test]
fn the_copy_of_the_data_is_not_behind_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let others = Others::of(folder.path());
    let file = folder.path().join("x.csv");
    rows::write_rows(&file);
    let out = folder.path().join("study");
    assert_eq!(ended(&mut rows::of_data(&file, &out)).0, 0);
    instead(&out.join("data"), |data| {
        symlink(&others.folder, data).unwrap()
    });
    for mut command in [rows::of_data(&file, &out), report(&out)] {
        let (code, said) = ended(&mut command);
        assert!(code == 1 && said.contains("data"), "{code}: {said}");
        others.check("data");
    }
}

#[test]
fn a_training_waits_for_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let others = Others::of(folder.path());
    let out = folder.path().join("training");
    assert_eq!(ended(&mut train_digits("60", &out)).0, 0);
    fs::remove_file(out.join("result.json")).unwrap();
    let checkpoint = ["checkpoint/model-1.sha256", "checkpoint/optim-1.bpk"];
    for name in ["train.lock", "spec.json", "losses.json"]
        .into_iter()
        .chain(checkpoint)
    {
        let file = out.join(name);
        let ways: [&dyn Fn(&Path); 2] =
            [&pipe, &|file| fs::hard_link(&others.secret, file).unwrap()];
        for put in ways {
            let kept = fs::read(&file).unwrap();
            instead(&file, put);
            let (code, said) = ended(&mut resume(&out));
            // Without a checkpoint it begins again.
            let is_needed = ["train.lock", "spec.json"].contains(&name);
            assert_eq!(code, i32::from(is_needed), "{name}: {said}");
            said.says(if is_needed { name } else { "is not whole" });
            others.check(name);
            fs::remove_file(&file).unwrap();
            fs::write(&file, kept).unwrap();
            let _ = fs::remove_file(out.join("result.json"));
        }
    }
}

#[test]
fn a_folder_that_the_user_keeps_behind_a_link_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let out = link.join("study");
    assert_eq!(ended(&mut study(&out)).0, 0);
    let behind = folder.path().join("study");
    symlink(real.join("study"), &behind).unwrap();
    assert_eq!(ended(&mut study(&behind)).0, 0);
    assert!(real.join("study/report.html").exists());
    assert_eq!(ended(&mut report(&behind)).0, 0);
}

#[test]
fn a_process_that_is_blocked_ends_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    // A pipe that is full, and that nobody reads.
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'x'; 64 * 1024]).unwrap();
    let out = folder.path().join("study");
    let mut child = study(&out).stdout(writer).spawn().unwrap();
    wait_until(|| out.join("report.html").exists(), "no report");
    thread::sleep(Duration::from_millis(500));
    let ended = child.try_wait().unwrap();
    assert_eq!(ended, None, "it does not wait for its reader");
    send("-TERM", &child.id().to_string());
    assert_eq!(end_of(&mut child, 30), Some(1));
}

#[test]
fn what_is_read_of_a_users_file_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut inspect = common::lab();
    inspect.args(["inspect", "/dev/zero"]);
    let large = folder.path().join("config.json");
    fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let mut of_large = common::lab();
    of_large.arg("inspect").arg(&large);
    let mut plan = common::lab();
    plan.args(["compare", "--study", "/dev/zero", "--dry-run"]);
    plan.current_dir(folder.path());
    for mut command in [inspect, of_large, plan] {
        let (code, said) = ended(&mut command);
        let is_error = [1, 2].contains(&code) && said.starts_with("error: ");
        assert!(is_error, "{code}: {said}");
    }
    assert_eq!(fs::metadata(&large).unwrap().nlink(), 1);
}
