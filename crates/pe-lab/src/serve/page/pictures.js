// The pictures of a scheme. Every number comes from the server; here it only gets a place and a colour.

import { Figure, axes, lines, rgb, shown, whole } from "./chart.js";

const VIEWS = {
  table: ["heatmap", "curves", "clocks", "frequencies", "similarity"],
  distance: ["distance", "frequencies"],
};

const TITLES = {
  heatmap: "The table: a row for each position, a colour for each value",
  curves: "Columns over the positions",
  clocks: "Pairs of columns as the hands of clocks: a dot for each position",
  frequencies: "The frequency of each pair of columns",
  similarity: "Similarity of the rows to one position",
  distance: "Over the distance between query and key",
};

const SHAPES = { heatmap: [0.75], clocks: [0.7, 1.4] };

const SETTERS = { heatmap, curves, clocks, frequencies, similarity, distance };

/** The figures of a scheme in an element; with `only`, those of these names. */
export class Pictures {
  constructor(element, scheme, look, only = null) {
    this.look = look;
    const names = VIEWS[scheme.view].filter((name) => !only || only.includes(name));
    this.figures = new Map(names.map((name) => [name, new Figure(name, TITLES[name], ...(SHAPES[name] ?? []))]));
    element.replaceChildren(...[...this.figures.values()].map((figure) => figure.element));
  }

  /** Shows numbers, and the rows of a table. */
  set(numbers, rows) {
    for (const [name, figure] of this.figures) {
      const empty = name === "frequencies" && numbers.frequencies.length === 0;
      figure.element.hidden = empty;
      if (!empty) figure.set(SETTERS[name](numbers, rows, this.look));
    }
  }
}

const strokes = (look, k) => rgb(look.lines[k % look.lines.length]);

function heatmap({ positions, columns }, rows, look) {
  const count = positions.length;
  const image = new ImageData(columns, count);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = Uint32Array.from(look.shades, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
  // Rows of a formula with a scale of its own are small: the colours go to the largest value.
  // These two loops run over 100,000 values at each change: they are written for speed.
  let most = 0;
  for (let i = 0; i < rows.length; i += 1) {
    if (rows[i] > most) most = rows[i];
    else if (-rows[i] > most) most = -rows[i];
  }
  const full = most > 0.5 || most === 0 ? 1 : most;
  const last = shades.length - 1;
  for (let i = 0; i < rows.length; i += 1) {
    // The nearest shade. A rounded sine may be a little past 1.
    pixels[i] = shades[Math.min(Math.max((rows[i] / full + 1) * last / 2 + 0.5, 0), last) | 0];
  }
  const cells = document.createElement("canvas");
  [cells.width, cells.height] = [columns, count];
  cells.getContext("2d").putImageData(image, 0, 0);
  const value = (x, y) => rows[y * columns + x];
  return {
    about: `Heat map of ${count} positions and ${columns} columns`,
    across: columns,
    down: count,
    read: (x, y) => `position ${whole(positions[y])}, column ${x}: ${shown(value(x, y))}`,
    paint: (context, width, height, colours, [x, y]) => {
      const { area } = axes(context, width, height, colours,
        { from: 0, to: columns, name: "column" },
        { from: 0, to: 1, name: "position", bare: true });
      context.imageSmoothingEnabled = false;
      context.drawImage(cells, area[0], area[1], area[2], area[3]);
      upright(context, area, positions, colours);
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.5;
      const [w, h] = [area[2] / columns, area[3] / count];
      context.strokeRect(area[0] + x * w, area[1] + y * h, Math.max(w, 3), Math.max(h, 3));
      return area;
    },
  };
}

/** The labels of an axis of positions that goes down. */
function upright(context, area, positions, colours) {
  const count = positions.length;
  const every = Math.max(1, Math.ceil(count / Math.max(2, area[3] / 30)));
  context.fillStyle = colours.soft;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let i = 0; i < count; i += every) {
    const text = positions[i] >= 1e6 ? `…${String(positions[i]).slice(-4)}` : String(positions[i]);
    context.fillText(text, area[0] - 6, area[1] + ((i + 0.5) / count) * area[3]);
  }
}

function curves({ positions, columns, pairs }, rows, look) {
  const all = pairs.map(([pair, sine], k) => ({
    label: `column ${sine}, pair ${pair}`,
    stroke: strokes(look, k),
    values: positions.map((_, i) => rows[i * columns + sine]),
  }));
  return {
    about: `Curves of ${all.length} columns over ${positions.length} positions`,
    across: positions.length,
    legend: all.map((line) => [line.stroke, line.label]),
    read: (i) => `position ${whole(positions[i])}: ${all.map((line) => shown(line.values[i])).join("; ")}`,
    paint: (context, width, height, colours, [i]) => lines(context, width, height, colours, positions, all,
      { xName: "position", yName: "value", cursor: i }),
  };
}

function clocks({ positions, columns, pairs }, rows, look) {
  const paired = pairs.filter(([, , cosine]) => cosine !== null);
  const count = positions.length;
  const at = (i, column) => rows[i * columns + column];
  let most = 0;
  for (const [, sine, cosine] of paired) {
    for (let i = 0; i < count; i += 1) most = Math.max(most, Math.hypot(at(i, sine), at(i, cosine)));
  }
  return {
    about: `${paired.length} clocks, one for each of a few pairs of columns`,
    across: count,
    read: (i) => `position ${whole(positions[i])}: ${paired.map(([pair, sine, cosine]) =>
      `pair ${pair} at (${shown(at(i, cosine))}, ${shown(at(i, sine))})`).join("; ")}`,
    paint: (context, width, height, colours, [cursor]) => {
      const across = width < 420 ? 2 : 3;
      const down = Math.max(1, Math.ceil(paired.length / across));
      const [w, h] = [width / across, height / down];
      const radius = Math.min(w, h) / 2 - 22;
      context.font = "12px system-ui, sans-serif";
      paired.forEach(([pair, sine, cosine], k) => {
        const [x, y] = [(k % across + 0.5) * w, (Math.floor(k / across) + 0.5) * h - 6];
        context.strokeStyle = colours.line;
        context.lineWidth = 1;
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.stroke();
        const place = (i) => [x + (at(i, cosine) / (most || 1)) * radius, y - (at(i, sine) / (most || 1)) * radius];
        context.fillStyle = strokes(look, k);
        for (let i = 0; i < count; i += 1) {
          const [px, py] = place(i);
          context.beginPath();
          context.arc(px, py, 2.2, 0, 2 * Math.PI);
          context.fill();
        }
        const [px, py] = place(cursor);
        context.strokeStyle = colours.ink;
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(px, py);
        context.stroke();
        context.fillStyle = colours.ink;
        context.textAlign = "center";
        context.fillText(`pair ${pair}`, x, y + radius + 16);
      });
      return [0, 0, width, height];
    },
  };
}

function frequencies({ frequencies: all }, _, look) {
  const count = Math.max(...all.map((line) => line.values.length));
  const pairs = Array.from({ length: count }, (_unused, i) => i);
  const drawn = all.map((line, k) => ({ ...line, stroke: strokes(look, k) }));
  return {
    about: `Frequencies of ${count} pairs of columns`,
    across: count,
    legend: drawn.map((line) => [line.stroke, line.label]),
    read: (i) => `pair ${i}: ${drawn.map((line) => `${line.label} = ${shown(line.values[i])}`).join("; ")} radians per position`,
    paint: (context, width, height, colours, [i]) => lines(context, width, height, colours, pairs, drawn,
      { xName: "pair of columns", yName: "radians per position", log: true, cursor: i }),
  };
}

function similarity({ positions, similarity: values }, _, look) {
  const line = { values, stroke: strokes(look, 0) };
  return {
    about: `Similarity of ${positions.length} positions to one`,
    across: positions.length,
    read: (i) => `position ${whole(positions[i])}: ${shown(values[i])}`,
    paint: (context, width, height, colours, [i]) => lines(context, width, height, colours, positions, [line],
      { xName: "position", yName: "mean cosine", cursor: i }),
  };
}

function distance({ offsets, lines: all, measure }, _, look) {
  const drawn = all.map((line, k) => ({ ...line, stroke: strokes(look, k) }));
  return {
    about: `The ${measure} at ${offsets.length} distances`,
    across: offsets.length,
    legend: drawn.map((line) => [line.stroke, line.label]),
    read: (i) => `key ${offsets[i] < 0 ? `${whole(-offsets[i])} before` : `${whole(offsets[i])} after`} the query: ${
      drawn.map((line) => shown(line.values[i])).join("; ")}`,
    paint: (context, width, height, colours, [i]) => lines(context, width, height, colours, offsets, drawn,
      { xName: "position of the key less that of the query", yName: measure, cursor: i }),
  };
}
