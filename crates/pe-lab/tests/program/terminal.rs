//! What a terminal gets, and what becomes of a training whose terminal is closed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::common::{digits, end_of, kill, resume, temporary, train_digits};

/// A terminal of 40 lines: the end that shows it, and the end that a program gets.
fn terminal() -> (File, File) {
    let (mut shown, mut given) = (0, 0);
    let size = libc::winsize {
        ws_row: 40,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the first two are written to, the last is read, and no name and no settings are asked for.
    let opened = unsafe {
        libc::openpty(
            &mut shown,
            &mut given,
            std::ptr::null_mut(),
            std::ptr::null(),
            &size,
        )
    };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // The program must not have the end that shows it: it would stay open in it.
    // SAFETY: the call changes a flag of a descriptor that was opened just now.
    unsafe { libc::fcntl(shown, libc::F_SETFD, libc::FD_CLOEXEC) };
    // SAFETY: both are open, and nothing else owns them.
    unsafe { (File::from_raw_fd(shown), File::from_raw_fd(given)) }
}

/// What a terminal shows until its program has ended.
fn all_of(mut shown: File) -> String {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    // Linux reports the end as an error.
    while let Ok(count @ 1..) = shown.read(&mut part) {
        all.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_terminal_that_obeys_no_escapes_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    for (term, has_escapes) in [("dumb", false), ("xterm", true)] {
        let [study, trained] =
            ["study", "training"].map(|of| folder.path().join(format!("{term}-{of}")));
        let study = digits("--schemes none --seeds 1 --steps 30", &study);
        for (number, mut command) in [study, train_digits("60", &trained)]
            .into_iter()
            .enumerate()
        {
            let (shown, given) = terminal();
            command
                .env("TERM", term)
                .stdin(given.try_clone().unwrap())
                .stdout(given.try_clone().unwrap())
                .stderr(given);
            let mut child = command.spawn().unwrap();
            // It holds the other end.
            drop(command);
            let said = all_of(shown);
            assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
            let has_some = said.contains('\u{1b}');
            assert_eq!(has_some, has_escapes, "{term}, {number}: {said}");
            assert!(said.contains("wrote ") || has_escapes, "{said}");
            if number == 1 {
                assert!(said.contains("step     60 of 60  loss "), "{said}");
                let bar = ["50 of 60 steps", "60 of 60 steps"];
                let is_drawn = bar.iter().any(|steps| said.contains(steps));
                assert_eq!(is_drawn, has_escapes, "{term}: {said}");
            }
        }
    }
}

#[test]
fn a_training_whose_terminal_is_closed_ends_with_a_sentence_and_goes_on() {
    let (folder, out) = temporary("training");
    let said = folder.path().join("said");
    // With the signal of a closed terminal, and with that signal ignored, where the next line finds out.
    for hears in [true, false] {
        let (mut shown, given) = terminal();
        let mut command = match out.exists() {
            false => train_digits("100000", &out),
            true => resume(&out),
        };
        command
            .env("TERM", "xterm")
            .stdin(given.try_clone().unwrap())
            .stdout(given)
            .stderr(File::create(&said).unwrap());
        let of_its_own = move || {
            // SAFETY: the calls may be made between fork and exec. The terminal is that of a new session.
            unsafe {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                if !hears {
                    libc::signal(libc::SIGHUP, libc::SIG_IGN);
                }
            }
            Ok(())
        };
        // SAFETY: `of_its_own` allocates nothing and takes no lock.
        unsafe { command.pre_exec(of_its_own) };
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut lines, mut part) = (String::new(), [0; 4096]);
        // By the second line a checkpoint is there.
        while lines.matches("  loss ").count() < 2 {
            match shown.read(&mut part) {
                Ok(count @ 1..) => lines.push_str(&String::from_utf8_lossy(&part[..count])),
                end => panic!("{end:?}: {lines}"),
            }
        }
        drop(shown);
        let code = end_of(&mut child, 60);
        let said = fs::read_to_string(&said).unwrap();
        assert_eq!(code, Some(1), "{hears}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        let sentence = said.lines().last().unwrap_or_default();
        assert!(
            sentence.contains("the terminal was closed") || sentence.starts_with("error: "),
            "{hears}: {said}"
        );
        assert!(said.contains("`pe-lab train --resume"), "{hears}: {said}");
    }
    // It is as whole as any that was stopped.
    let mut child = resume(&out).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("  loss ")));
    assert_eq!(child.try_wait().unwrap(), None);
    kill(child);
}
