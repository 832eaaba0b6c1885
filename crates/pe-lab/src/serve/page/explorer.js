// The explorer: one scheme, or two side by side. The fragment of the address holds the settings.

import "./address.js";
import { Panel, look } from "./panel.js";

const main = document.querySelector("main");
const both = document.querySelector("#both");
const panels = { a: null, b: null };

/** The settings in the fragment: of the first scheme, and of the second if there is one. */
function read() {
  const states = { a: new Map(), b: new Map() };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const [of, setting] = name.split(".");
    states[of]?.set(setting, value);
  }
  return states;
}

function write() {
  const parts = new URLSearchParams();
  for (const [of, panel] of Object.entries(panels)) {
    for (const [name, value] of panel?.state ?? []) parts.append(`${of}.${name}`, value);
  }
  history.replaceState(null, "", `#${parts}`);
}

function build(schemes, of, state) {
  const element = document.querySelector("#panel").content.firstElementChild.cloneNode(true);
  element.dataset.panel = of;
  element.setAttribute("aria-label", of === "a" ? "Scheme" : "Second scheme");
  main.append(element);
  const select = element.querySelector(".scheme");
  const about = element.querySelector(".about");
  for (const scheme of schemes.schemes) select.add(new Option(scheme.title, scheme.name));
  const panel = new Panel(element, schemes, state, { changed: write, prefix: of });
  const named = () => {
    select.value = panel.scheme.name;
    about.textContent = panel.scheme.about;
  };
  select.addEventListener("change", () => {
    panel.choose(new Map([["scheme", select.value]]));
    named();
    write();
  });
  element.querySelector(".copy").addEventListener("click", async (event) => {
    const code = element.querySelector(".code");
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Some browsers refuse: then the text is selected, to be copied by hand.
      getSelection().selectAllChildren(code);
      said = "Selected: copy it with the keyboard";
    }
    const button = event.target;
    button.textContent = said;
    setTimeout(() => { button.textContent = "Copy Rust code"; }, 2000);
  });
  panel.named = named;
  named();
  return panel;
}

function second(schemes, state) {
  panels.b?.element.remove();
  panels.b = both.checked ? build(schemes, "b", state) : null;
  main.classList.toggle("two", both.checked);
  write();
}

const schemes = await look;
const start = read();
both.checked = start.b.size > 0;
panels.a = build(schemes, "a", start.a);
second(schemes, start.b);
both.addEventListener("change", () => second(schemes, new Map([["scheme", "rotary"]])));
addEventListener("hashchange", () => {
  const states = read();
  panels.a.choose(states.a);
  panels.a.named();
  both.checked = states.b.size > 0;
  second(schemes, states.b);
});
document.documentElement.dataset.ready = "yes";
