// A scheme under its controls: asks the server for the numbers of the settings, and shows them.

import { Control } from "./controls.js";
import { Pictures } from "./pictures.js";

/** What the server can compute, asked for once. */
export const look = fetch("/api/schemes").then((answer) => answer.json());

/** An answer: a line of JSON and, behind it, the rows of a table. */
function read(buffer) {
  const end = new Uint8Array(buffer).indexOf(10);
  const numbers = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 0, end)));
  return [numbers, new Float32Array(buffer.slice(end + 1))];
}

export class Panel {
  /**
   * `state` is a map of settings, `scheme` among them. `only` names the pictures and `controls` the settings
   * that are shown; without them all are.
   */
  constructor(element, schemes, state, { changed = () => {}, only = null, controls = null, prefix = "a" } = {}) {
    Object.assign(this, { element, schemes, changed, only, shownControls: controls, prefix });
    this.pictures = null;
    this.wanted = this.shown = null;
    this.parts = Object.fromEntries(["settings", "error", "facts", "pictures", "code"].map((name) =>
      [name, element.querySelector(`.${name}`)]));
    this.choose(state);
  }

  /** Shows a scheme with these settings. */
  choose(state) {
    this.scheme = this.schemes.schemes.find((scheme) => scheme.name === state.get("scheme")) ?? this.schemes.schemes[0];
    this.controls = this.scheme.controls.map((control) => new Control(control, () => this.settingsChanged(), this.prefix));
    for (const control of this.controls) {
      if (state.has(control.name)) control.value = state.get(control.name);
    }
    this.fixed = new Map(this.controls.map((control) => [control.name, control.value]));
    const visible = (control) => !this.shownControls || this.shownControls.includes(control.name);
    this.parts.settings.replaceChildren(...this.controls.filter(visible).map((control) => control.element));
    this.pictures = new Pictures(this.parts.pictures, this.scheme, this.schemes, this.only);
    this.shown = null;
    this.enable();
    this.update();
  }

  /** Hides the settings that do not matter for the values of others. */
  enable() {
    const value = (name) => this.controls.find((control) => control.name === name).value;
    for (const { control, element } of this.controls) {
      element.hidden = control.only !== null && !control.only[1].includes(value(control.only[0]));
    }
  }

  settingsChanged() {
    this.enable();
    this.update();
    this.changed();
  }

  /** The settings that are not the defaults. */
  get state() {
    const all = this.controls.filter((control) => control.value !== control.initial);
    return new Map([["scheme", this.scheme.name], ...all.map((control) => [control.name, control.value])]);
  }

  /** Asks for the numbers of the settings as they are now. Settings that changed meanwhile are asked for next. */
  async update() {
    this.since ??= performance.now();
    this.wanted = new URLSearchParams([...this.state]).toString();
    if (this.busy) return;
    this.busy = true;
    while (this.wanted !== this.shown) {
      const query = this.wanted;
      const pictures = this.pictures;
      try {
        const answer = await fetch(`/api/numbers?${query}`);
        if (!answer.ok) {
          this.refuse(await answer.json());
        } else {
          const [numbers, rows] = read(await answer.arrayBuffer());
          if (pictures === this.pictures) this.show(numbers, rows);
        }
      } catch (error) {
        this.refuse({ error: `pe-lab does not answer (${error.message}); is it still running?` });
      }
      this.shown = query;
    }
    this.busy = false;
    // For whoever measures: how long the last change took until it was drawn, and what is drawn.
    this.element.dataset.took = (performance.now() - this.since).toFixed(1);
    this.element.dataset.shown = this.shown;
    this.since = null;
  }

  show(numbers, rows) {
    for (const control of this.controls) control.refused = false;
    this.parts.error.textContent = "";
    this.parts.facts.replaceChildren(...numbers.facts.map((words) => {
      const item = document.createElement("li");
      item.textContent = words;
      return item;
    }));
    this.pictures.set(numbers, rows);
    if (this.parts.code) this.parts.code.textContent = numbers.code;
  }

  refuse({ error, name }) {
    this.parts.error.textContent = error;
    for (const control of this.controls) control.refused = control.name === name;
  }
}
