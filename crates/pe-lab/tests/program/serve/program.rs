//! The program beside its clients, and its end.

use super::*;

#[test]
fn the_program_says_where_it_is_and_ends_on_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = common::lab();
    serve.args(["serve", "--port", "0"]);
    let (child, said, port) = begun(serve.current_dir(folder.path()));
    let address = format!("http://127.0.0.1:{port}/");
    assert!(said.starts_with(&address), "{said}");
    assert_eq!(ask_without(port, "GET /", "").status, 403);
    let token = know(port, said.split(' ').next().unwrap());
    assert_eq!((token.len(), said.lines().count()), (32, 1), "{said}");
    assert_eq!(get(port, "/").status, 200);
    assert_eq!(get(port, "/api/study").json()["state"], "none");

    // A second one at the same port.
    let again = common::run_in(folder.path(), &format!("serve --port {port}"));
    common::failed(again, 2).says_all(&[&format!("port {port} is in use"), "--port"]);

    ends_on_ctrl_c(child);
    assert!(listing(folder.path()).is_empty(), "nothing is written");
}

/// The program, the line with its link, and its port.
pub fn begun(serve: &mut Command) -> (Child, String, u16) {
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut said).unwrap();
    let mut parts = said.split(['/', ':', ' ']);
    let port = parts.find_map(|part| part.parse().ok()).expect(&said);
    (child, said, port)
}

/// The program, serving a folder, and its port.
fn started(folder: &Path) -> (Child, u16) {
    let mut serve = common::lab();
    let (child, said, port) = begun(serve.args(["serve", "--port", "0"]).arg(folder));
    know(port, said.split(' ').next().unwrap());
    (child, port)
}

/// Sends Ctrl-C, and checks that the program ends by it. It gives clients two seconds; the rest is for a machine that is busy.
fn ends_on_ctrl_c(mut child: Child) {
    let start = Instant::now();
    common::send("-INT", &child.id().to_string());
    assert_eq!(common::end_of(&mut child, 30), Some(0));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// A request that is sent, and whose answer is still to be read.
fn asked(port: u16, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let headers = format!("Host: 127.0.0.1:{port}\r\n{}", served::cookie(port));
    write!(stream, "GET {target} HTTP/1.1\r\n{headers}\r\n").unwrap();
    stream
}

/// The seconds of a core that a process has used.
#[cfg(target_os = "linux")]
fn used(child: &Child) -> f64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let (_, behind_the_name) = text.rsplit_once(')').unwrap();
    let ticks = behind_the_name.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

#[cfg(target_os = "linux")]
#[test]
fn work_ends_with_its_client_and_with_the_server() {
    let (_folder, out) = temporary("study");
    study(&out);
    // Results that take long to read, and are none: 64 MiB each, of which the disk has nothing.
    let seeds = 800;
    plan_seeds(&out, seeds);
    for seed in 1..=seeds {
        for scheme in ["none", "learned"] {
            let trial = out.join(format!("trials/reverse-{scheme}-{seed}"));
            fs::create_dir_all(&trial).unwrap();
            let result = fs::File::create(trial.join("result.json")).unwrap();
            result.set_len(64 << 20).unwrap();
        }
    }
    let (child, port) = started(&out);
    let client = asked(port, "/api/study");
    // A busy machine gives it little of a second.
    common::wait_until(|| used(&child) >= 0.2, "it does nothing");
    drop(client);
    let rests = || {
        let before = used(&child);
        thread::sleep(Duration::from_secs(1));
        used(&child) - before < 0.1
    };
    common::wait_until(rests, "it works on for nobody");
    // A client that waits does not keep the server.
    let client = asked(port, "/api/study");
    thread::sleep(Duration::from_millis(500));
    ends_on_ctrl_c(child);
    drop(client);
}

#[test]
fn a_client_that_reads_slowly_does_not_keep_the_server() {
    let folder = tempfile::tempdir().unwrap();
    // More than the system keeps for a client that does not read.
    fs::write(folder.path().join("report.html"), vec![b'x'; 48 << 20]).unwrap();
    let (child, port) = started(folder.path());
    let mut client = asked(port, "/report");
    let mut byte = [0; 1];
    client.read_exact(&mut byte).unwrap();
    let reader = thread::spawn(move || {
        while client.read_exact(&mut byte).is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    ends_on_ctrl_c(child);
    drop(reader);
}
