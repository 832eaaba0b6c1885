// Pictures on a canvas: axes, lines, a cursor that is moved by mouse or arrow keys, and what stands at it.

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The colours of the page, in the light or in the dark. */
export const theme = () => ({
  ground: colour("--raised"), ink: colour("--ink"), soft: colour("--soft"), line: colour("--line"),
  accent: colour("--accent"),
});

export const rgb = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** A number as text, with seven digits at most. */
export function shown(value) {
  if (value === null || value === undefined) return "no number";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e9 || size < 1e-4 ? value.toExponential(6) : value.toPrecision(7);
  return text.includes("e") ? text.replace(/\.?0+e/, "e") : text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** A whole number with its thousands apart. */
export const whole = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** Round values between two ends, about `count` of them. */
export function ticks(from, to, count) {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [from];
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= count) ?? 10 * power;
  const first = Math.ceil(from / step - 1e-9);
  const all = [];
  for (let k = first; k * step <= to + step * 1e-9; k += 1) all.push(k * step);
  return all;
}

const label = (value) => {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(value.toPrecision(6)));
};

/** A figure: a canvas with a title, a line that says what stands at the cursor, and a button that saves it. */
export class Figure {
  /** `shape` is the height of the picture as a share of its width, and `narrow` that on a narrow screen. */
  constructor(name, title, shape = 0.6, narrow = shape) {
    Object.assign(this, { name, shape, narrow });
    this.cursor = [0, 0];
    this.element = document.createElement("figure");
    this.element.dataset.picture = name;
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.legend = document.createElement("ul");
    this.legend.className = "legend";
    this.output = document.createElement("output");
    this.output.setAttribute("aria-live", "polite");
    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "Save picture";
    save.setAttribute("aria-label", `Save picture: ${title}`);
    save.addEventListener("click", () => this.save());
    const row = document.createElement("div");
    row.className = "below";
    row.append(this.output, save);
    this.element.append(caption, this.canvas, this.legend, row);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    // Drawing changes the height, which is no reason to draw again.
    new ResizeObserver(() => { if (this.element.clientWidth !== this.width) this.draw(); }).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /**
   * What to draw: `paint(context, width, height, theme, cursor)`, which returns the area of the data,
   * `[left, top, width, height]`; `read(x, y)`, the words for the cursor; how many steps the cursor has across
   * and down; and the legend, pairs of a colour and words.
   */
  set({ paint, read, across, down = 1, nearest = null, legend = [], about }) {
    Object.assign(this, { paint, read, nearest, steps: [across, down] });
    this.cursor = [Math.min(this.cursor[0], across - 1), Math.min(this.cursor[1], down - 1)];
    this.canvas.setAttribute("aria-label", `${about}. Arrow keys read the values.`);
    this.legend.replaceChildren(...legend.map(([stroke, words]) => {
      const item = document.createElement("li");
      const mark = document.createElement("span");
      mark.style.background = stroke;
      item.append(mark, words);
      return item;
    }));
    this.legend.hidden = legend.length === 0;
    this.draw();
  }

  draw() {
    this.width = this.element.clientWidth;
    const width = this.width - 16;
    if (!this.paint || width <= 0) return;
    // What stands in two columns on a narrow screen needs more height.
    const shape = width < 420 ? this.narrow : this.shape;
    const height = Math.round(Math.max(180, width * shape));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const colours = theme();
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    this.area = this.paint(context, width, height, colours, this.cursor);
    this.output.textContent = this.read(...this.cursor);
  }

  move(x, y) {
    const inside = (value, count) => Math.min(Math.max(value, 0), count - 1);
    this.cursor = [inside(x, this.steps[0]), inside(y, this.steps[1])];
    this.draw();
  }

  key(event) {
    const far = event.shiftKey ? 10 : 1;
    const [x, y] = this.cursor;
    const to = {
      ArrowLeft: [x - far, y], ArrowRight: [x + far, y], ArrowUp: [x, y - far], ArrowDown: [x, y + far],
      Home: [0, y], End: [this.steps[0] - 1, y],
    }[event.key];
    if (!to || !this.steps) return;
    event.preventDefault();
    this.move(...to);
  }

  point(event) {
    if (!this.area) return;
    if (this.nearest) {
      this.move(this.nearest(event.offsetX, event.offsetY), 0);
      return;
    }
    const [left, top, width, height] = this.area;
    const at = (offset, from, size, count) => Math.floor(((offset - from) / size) * count);
    this.move(at(event.offsetX, left, width, this.steps[0]), at(event.offsetY, top, height, this.steps[1]));
  }

  save() {
    this.canvas.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `pe-lab-${this.name}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
}

/**
 * Draws a frame with axes and returns the area and the places of values in it. `x` and `y` have `from`, `to`,
 * `name`, and may have `log`; a `y` that is `bare` has no marks.
 */
export function axes(context, width, height, colours, x, y) {
  const left = 62, right = 14, top = 12, bottom = 44;
  const area = [left, top, width - left - right, height - top - bottom];
  const along = (axis, from, size) => {
    const scale = axis.log ? Math.log10 : (v) => v;
    const [a, b] = [scale(axis.from), scale(axis.to)];
    return (value) => from + (b > a ? (scale(value) - a) / (b - a) : 0.5) * size;
  };
  const placeX = along(x, area[0], area[2]);
  const up = along(y, 0, area[3]);
  const placeY = (value) => area[1] + area[3] - up(value);
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  const marks = (axis, count) => {
    if (!axis.log) return ticks(axis.from, axis.to, count);
    const [a, b] = [Math.ceil(Math.log10(axis.from) - 1e-9), Math.floor(Math.log10(axis.to) + 1e-9)];
    const step = Math.max(1, Math.ceil((b - a) / count));
    const all = [];
    for (let power = a; power <= b; power += step) all.push(10 ** power);
    return all;
  };
  context.strokeStyle = colours.line;
  context.fillStyle = colours.soft;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const mark of y.bare ? [] : marks(y, Math.max(2, area[3] / 34))) {
    const at = Math.round(placeY(mark)) + 0.5;
    context.beginPath();
    context.moveTo(area[0], at);
    context.lineTo(area[0] + area[2], at);
    context.stroke();
    context.fillText(label(mark), area[0] - 6, at);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const mark of marks(x, Math.max(2, area[2] / 74))) {
    const at = Math.round(placeX(mark)) + 0.5;
    context.beginPath();
    context.moveTo(at, area[1] + area[3]);
    context.lineTo(at, area[1] + area[3] + 4);
    context.stroke();
    context.fillText(label(mark), at, area[1] + area[3] + 7);
  }
  context.strokeRect(area[0] + 0.5, area[1] + 0.5, area[2] - 1, area[3] - 1);
  context.fillStyle = colours.ink;
  context.fillText(x.name, area[0] + area[2] / 2, height - 16);
  context.save();
  context.translate(11, area[1] + area[3] / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "middle";
  context.fillText(y.name, 0, 0);
  context.restore();
  return { area, placeX, placeY };
}

/** The ends of an axis for values, with a little room. */
export function ends(values, name, log = false) {
  const real = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
  let [from, to] = [Infinity, -Infinity];
  for (const value of real) {
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  if (!(from <= to)) [from, to] = [0, 1];
  if (from === to) [from, to] = log ? [from / 2, to * 2] : [from - 1, to + 1];
  const room = log ? 0 : (to - from) * 0.04;
  return { from: from - room, to: to + room, name, log };
}

/** Draws lines with a cursor; `x` are the places, `lines` have `values` and a `stroke`. */
export function lines(context, width, height, colours, places, all, { xName, yName, log = false, cursor = null, dots = false }) {
  // Far away neighbours would have the same label: there the axis counts from the first place.
  const far = places[0] >= 1e5 && places[places.length - 1] - places[0] < places[0] / 10 ? places[0] : 0;
  const x = far ? places.map((place) => place - far) : places;
  if (far) xName = `${xName} − ${whole(far)}`;
  const xEnds = { from: x[0], to: x[x.length - 1], name: xName };
  if (xEnds.from === xEnds.to) [xEnds.from, xEnds.to] = [xEnds.from - 1, xEnds.to + 1];
  const yEnds = ends(all.flatMap((line) => line.values), yName, log);
  const { area, placeX, placeY } = axes(context, width, height, colours, xEnds, yEnds);
  if (cursor !== null && cursor < x.length) {
    context.strokeStyle = colours.soft;
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(placeX(x[cursor]), area[1]);
    context.lineTo(placeX(x[cursor]), area[1] + area[3]);
    context.stroke();
    context.setLineDash([]);
  }
  context.lineWidth = 1.8;
  for (const { values, stroke } of all) {
    context.strokeStyle = context.fillStyle = stroke;
    context.beginPath();
    let open = false;
    values.forEach((value, i) => {
      if (value === null || (log && value <= 0)) { open = false; return; }
      const [px, py] = [placeX(x[i]), placeY(value)];
      if (open) context.lineTo(px, py); else context.moveTo(px, py);
      open = true;
      if (dots || values.length === 1) context.fillRect(px - 2, py - 2, 4, 4);
    });
    context.stroke();
  }
  return area;
}
