//! Chromium without a window, told what to do in its DevTools protocol.
//!
//! The messages go through two pipes (`--remote-debugging-pipe`), each ended by a zero byte, so neither a port nor a
//! WebSocket is needed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::words;

/// How long the page may take for anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
    /// What it told without being asked.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// A tab of the browser.
pub struct Tab(String);

impl Browser {
    pub fn start() -> Self {
        let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".into());
        let profile = tempfile::tempdir().unwrap();
        // The browser reads from descriptor 3 and writes to 4: here its standard input and output.
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            ])
            .arg(&program)
            .args(words(
                "--headless --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run",
            ))
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            calls: 0,
            events: Vec::new(),
            _profile: profile,
        }
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        write!(self.input, "{message}\0").unwrap();
        self.input.flush().unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser ended");
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if message["id"] == self.calls {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Opens a page in a tab of its own, and waits until its script has run.
    pub fn open(&mut self, url: &str) -> Tab {
        let tab = self.tab();
        self.size(&tab, 1_600, false);
        self.go(&tab, url);
        tab
    }

    /// An empty tab.
    pub fn tab(&mut self) -> Tab {
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call(None, "Target.attachToTarget", attach);
        let tab = Tab(session["sessionId"].as_str().unwrap().into());
        for domain in ["Runtime", "Log", "Page", "Network"] {
            self.tell(&tab, &format!("{domain}.enable"), json!({}));
        }
        tab
    }

    /// Leads a tab to an address.
    pub fn visit(&mut self, tab: &Tab, url: &str) {
        self.tell(tab, "Page.navigate", json!({"url": url}));
    }

    /// Leads a tab to an address, and waits until the script of the page has run.
    pub fn go(&mut self, tab: &Tab, url: &str) {
        self.visit(tab, url);
        self.wait(tab, "document.documentElement?.dataset.ready === 'yes'");
    }

    pub fn tell(&mut self, tab: &Tab, method: &str, params: Value) -> Value {
        self.call(Some(&tab.0.clone()), method, params)
    }

    /// Makes the window of a tab this wide, in the light or in the dark.
    pub fn size(&mut self, tab: &Tab, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.tell(tab, "Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tell(tab, "Emulation.setEmulatedMedia", features);
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, tab: &Tab, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let result = self.tell(tab, "Runtime.evaluate", params);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{script}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Gives the focus to an element, which an expression names.
    pub fn focus(&mut self, tab: &Tab, element: &str) {
        self.eval(tab, &format!("{element}.focus()"));
    }

    /// Checks how the text begins that an expression has.
    #[track_caller]
    pub fn begins(&mut self, tab: &Tab, script: &str, with: &str) {
        let text = self.text(tab, script);
        assert!(text.starts_with(with), "{with}: {text}");
    }

    pub fn text(&mut self, tab: &Tab, script: &str) -> String {
        let value = self.eval(tab, script);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{script} is {value}"))
            .to_string()
    }

    /// Waits until an expression in the page is true.
    pub fn wait(&mut self, tab: &Tab, script: &str) {
        let end = Instant::now() + PATIENCE;
        while self.eval(tab, script) != true {
            assert!(Instant::now() < end, "this did not become true: {script}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key.
    pub fn press(&mut self, tab: &Tab, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("which code has {key}?"),
        };
        let text = match key {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let kind = if kind == "keyDown" && text.is_empty() {
                "rawKeyDown"
            } else {
                kind
            };
            let key = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.tell(tab, "Input.dispatchKeyEvent", key);
        }
    }

    /// Saves what a tab shows, if the variable `PAGE_SHOTS` names a folder.
    pub fn shot(&mut self, tab: &Tab, name: &str) {
        use base64::Engine;
        let Some(folder) = std::env::var_os("PAGE_SHOTS") else {
            return;
        };
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.tell(tab, "Page.captureScreenshot", params);
        let bytes = base64::prelude::BASE64_STANDARD
            .decode(picture["data"].as_str().unwrap())
            .unwrap();
        std::fs::write(
            std::path::Path::new(&folder).join(format!("{name}.png")),
            bytes,
        )
        .unwrap();
    }

    /// Fails if a page reported an error, or asked for anything but this server.
    pub fn check(&mut self, port: u16) {
        // Whatever was told before this answer is there.
        self.call(None, "Browser.getVersion", json!({}));
        for event in &self.events {
            let params = &event["params"];
            let is_error = match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => true,
                "Runtime.consoleAPICalled" => params["type"] == "error",
                "Log.entryAdded" => params["entry"]["level"] == "error",
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap();
                    let own = [
                        format!("http://127.0.0.1:{port}/"),
                        "blob:".into(),
                        "data:".into(),
                    ];
                    !own.iter().any(|own| url.starts_with(own.as_str()))
                }
                _ => false,
            };
            assert!(!is_error, "{event}");
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
