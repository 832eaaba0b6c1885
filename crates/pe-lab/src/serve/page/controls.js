// The settings of a scheme: a slider and a number box for each, or a list to choose from.

const STEPS = 1000;

/** Whether a slider moves by factors: where it spans many powers of ten. */
const byFactors = ({ least, most }) => most - least > 1000 || (least > 0 && most / least >= 100);

function scaled(control) {
  const { least, most, kind, step = 0 } = control;
  if (!byFactors(control)) {
    return { min: least, max: most, step: kind === "whole" ? step : (most - least) / STEPS,
      value: (place) => Number(place), place: (value) => value };
  }
  // From 0 on a logarithm needs a 1.
  const shift = least > 0 ? 0 : 1;
  const [a, b] = [Math.log(least + shift), Math.log(most + shift)];
  const round = (value) => (kind === "whole" ? Math.round(value / step) * step : Number(value.toPrecision(4)));
  const inside = (value) => Math.min(Math.max(round(value), least), most);
  return {
    min: 0, max: STEPS, step: 1,
    value: (place) => (place <= 0 ? least : place >= STEPS ? most : inside(Math.exp(a + (b - a) * (place / STEPS)) - shift)),
    place: (value) => ((Math.log(Math.max(value, least) + shift) - a) / (b - a)) * STEPS,
  };
}

let count = 0;

/** One setting. `changed` is called after a change; the value is a text, as in an address. */
export class Control {
  constructor(control, changed, prefix) {
    Object.assign(this, { control, changed });
    this.name = control.name;
    this.initial = control.kind === "choice" ? control.options[0][0] : String(control.default);
    this.element = document.createElement("div");
    this.element.className = "control";
    this.element.dataset.name = control.name;
    const label = document.createElement("label");
    label.textContent = control.label;
    count += 1;
    const id = `${prefix}-${control.name}-${count}`;
    if (control.kind === "choice") {
      this.box = document.createElement("select");
      for (const [value, words] of control.options) this.box.add(new Option(words, value));
      this.element.append(label, this.box);
      this.box.addEventListener("change", () => changed());
    } else {
      this.scale = scaled(control);
      this.slider = document.createElement("input");
      this.slider.type = "range";
      [this.slider.min, this.slider.max, this.slider.step] = [this.scale.min, this.scale.max, this.scale.step];
      this.slider.setAttribute("aria-label", `${control.label}, slider`);
      this.box = document.createElement("input");
      this.box.type = "number";
      [this.box.min, this.box.max] = [control.least, control.most];
      this.box.step = control.kind === "whole" ? control.step : "any";
      this.element.append(label, this.slider, this.box);
      this.slider.addEventListener("input", () => this.slid(this.scale.value(Number(this.slider.value))));
      this.slider.addEventListener("keydown", (event) => this.key(event));
      this.box.addEventListener("input", () => { this.place(); changed(); });
    }
    this.box.id = id;
    label.htmlFor = id;
    this.value = this.initial;
  }

  get value() { return this.box.value; }

  set value(text) {
    this.box.value = text;
    this.place();
  }

  place() {
    if (!this.slider) return;
    const value = Number(this.box.value);
    if (this.box.value !== "" && Number.isFinite(value)) this.slider.value = this.scale.place(value);
    this.slider.setAttribute("aria-valuetext", this.box.value);
  }

  slid(value) {
    this.box.value = String(value);
    this.slider.setAttribute("aria-valuetext", this.box.value);
    this.changed();
  }

  /** On a slider that moves by factors an arrow key always changes the value. */
  key(event) {
    const move = { ArrowRight: 5, ArrowUp: 5, ArrowLeft: -5, ArrowDown: -5, PageUp: 100, PageDown: -100 }[event.key];
    if (!move || !byFactors(this.control)) return;
    event.preventDefault();
    const { least, most, kind, step } = this.control;
    const now = Number(this.box.value);
    let next = this.scale.value(this.scale.place(now) + move);
    if (kind === "whole" && Math.abs(next - now) < step) next = now + Math.sign(move) * step;
    this.slid(Math.min(Math.max(next, least), most));
    this.slider.value = this.scale.place(Number(this.box.value));
  }

  /** Shows that the server refuses the value. */
  set refused(is) {
    if (is) this.box.setAttribute("aria-invalid", "true"); else this.box.removeAttribute("aria-invalid");
  }
}
