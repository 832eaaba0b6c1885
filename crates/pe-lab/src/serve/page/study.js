// A study, while it runs and after it: asks every few seconds, and shows what is there. Nothing here can change it.

import "./address.js";
import { Figure, axes, ends, rgb, shown } from "./chart.js";

const EVERY = 3000;
const at = (id) => document.getElementById(id);
const hidden = { schemes: new Set(), tasks: new Set() };
const figures = { scores: new Map(), curves: new Map() };
let latest = null;

/** Seconds in words. */
function time(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Boxes that switch names on and off. Those that are there stay, so that none loses the focus. */
function boxes(id, names) {
  const known = new Set([...at(id).querySelectorAll("input")].map((box) => box.value));
  for (const name of names) {
    if (known.has(name)) continue;
    const label = document.createElement("label");
    label.className = "check";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.value = name;
    box.addEventListener("change", () => {
      if (box.checked) hidden[id].delete(name); else hidden[id].add(name);
      draw();
    });
    label.append(box, name);
    at(id).append(label);
  }
}

/** The figure of a name in a part of the page. */
function figure(part, name, title) {
  let found = figures[part].get(name);
  if (!found) {
    found = new Figure(`${part}-${name}`, title, part === "scores" ? 0.5 : 0.55);
    figures[part].set(name, found);
    at(part).append(found.element);
  }
  return found;
}

const shape = (scheme) => latest.looks[latest.schemes.indexOf(scheme)];
const stroke = (scheme) => rgb(shape(scheme).colour);

/** Scores of a task: a row for each scheme, a point for each seed; on the left inside, on the right beyond. */
function scores(task, schemes, trials) {
  const rows = schemes.map((scheme) => {
    const of = trials.filter((trial) => trial.task === task && trial.scheme === scheme);
    return { scheme, inside: of.filter((t) => t.inside !== null), beyond: of.filter((t) => t.beyond !== null) };
  });
  const points = rows.flatMap((row, y) => ["inside", "beyond"].flatMap((part) =>
    row[part].map((trial) => ({ y, part, value: trial[part], seed: trial.seed, scheme: row.scheme }))));
  const parts = ["inside", "beyond"].filter((part) => points.some((p) => p.part === part));
  const placed = [];
  const apart = (i, x, y) => Math.hypot(placed[i][0] - x, placed[i][1] - y);
  return {
    about: `Scores of ${schemes.length} schemes on ${task}, ${points.length} points`,
    across: Math.max(points.length, 1),
    read: (i) => (points[i] ? `${points[i].scheme}, seed ${points[i].seed}, ${
      points[i].part === "inside" ? "training lengths" : "longer ones"}: ${shown(points[i].value)}` : "no score yet"),
    nearest: (x, y) => placed.reduce((best, _, i) => (apart(i, x, y) < apart(best, x, y) ? i : best), 0),
    paint: (context, width, height, theme, [cursor]) => {
      const label = "12px system-ui, sans-serif";
      context.font = label;
      const widest = Math.max(...rows.map((row) => context.measureText(row.scheme).width));
      const names = Math.ceil(Math.min(Math.max(widest + 16, 70), 0.36 * width));
      const shownParts = parts.length ? parts : ["inside"];
      const size = (width - names) / shownParts.length;
      const least = Math.min(0, ...points.map((p) => p.value));
      shownParts.forEach((part, k) => {
        context.save();
        context.translate(names - 62 + k * size, 0);
        const { area, placeX } = axes(context, size + 40, height, theme,
          { from: least, to: 1, name: part === "inside" ? "inside" : "beyond" },
          { from: 0, to: 1, name: "", bare: true });
        rows.forEach((row, y) => {
          const middle = area[1] + ((y + 0.5) / rows.length) * area[3];
          context.fillStyle = context.strokeStyle = stroke(row.scheme);
          const own = points.map((p, i) => ({ ...p, i })).filter((p) => p.part === part && p.y === y);
          own.forEach((p, n) => {
            const spread = own.length > 1 ? (n / (own.length - 1) - 0.5) * Math.min(14, area[3] / rows.length - 6) : 0;
            placed[p.i] = [placeX(p.value) + names - 62 + k * size, middle + spread];
            context.beginPath();
            context.arc(placeX(p.value), middle + spread, p.i === cursor ? 6 : 3.5, 0, 2 * Math.PI);
            context.fill();
          });
          if (own.length) {
            const mean = own.reduce((sum, p) => sum + p.value, 0) / own.length;
            context.lineWidth = 2;
            context.beginPath();
            context.moveTo(placeX(mean), middle - 9);
            context.lineTo(placeX(mean), middle + 9);
            context.stroke();
          }
        });
        context.restore();
      });
      context.fillStyle = theme.ground;
      context.fillRect(0, 0, names - 1, height - 44);
      context.fillStyle = theme.ink;
      context.font = label;
      context.textAlign = "right";
      context.textBaseline = "middle";
      rows.forEach((row, y) => {
        const middle = 12 + ((y + 0.5) / rows.length) * (height - 56);
        let name = row.scheme;
        for (let kept = name.length - 1; kept > 0 && context.measureText(name).width > names - 12; kept -= 1) {
          name = `${row.scheme.slice(0, kept)}…`;
        }
        context.fillText(name, names - 8, middle);
      });
      return [0, 0, width, height];
    },
  };
}

/** The loss on held-out sequences of every training of a task. */
function curves(task, schemes, trials) {
  const all = trials.filter((trial) => trial.task === task && schemes.includes(trial.scheme) && trial.held_out.length);
  const steps = [...new Set(all.flatMap((trial) => trial.held_out.map(([step]) => step)))].sort((a, b) => a - b);
  const loss = (trial, step) => trial.held_out.find(([s]) => s === step)?.[1] ?? null;
  const running = all.filter((trial) => trial.state === "begun").length;
  const used = schemes.filter((scheme) => all.some((trial) => trial.scheme === scheme));
  const readAt = (i) => `step ${steps[i]}: ${used.map((scheme) => {
    const of = all.filter((trial) => trial.scheme === scheme).map((trial) => loss(trial, steps[i])).filter((v) => v !== null);
    return `${scheme} ${of.map((v) => v.toPrecision(4)).join(", ")}`;
  }).join("; ")}`;
  return {
    about: `Held-out loss of ${all.length} trainings on ${task}${running ? `, ${running} of which still run` : ""}`,
    across: Math.max(steps.length, 1),
    legend: used.map((scheme) => [stroke(scheme), scheme]),
    read: (i) => (steps.length ? readAt(i) : "no training was tested yet"),
    paint: (context, width, height, theme, [cursor]) => {
      const x = { from: steps[0] ?? 0, to: steps.at(-1) ?? 1, name: "training step" };
      if (x.from === x.to) [x.from, x.to] = [x.from - 1, x.to + 1];
      const y = ends(all.flatMap((trial) => trial.held_out.map(([, value]) => value)), "loss");
      const { area, placeX, placeY } = axes(context, width, height, theme, x, y);
      context.lineWidth = 1.4;
      for (const trial of all) {
        context.strokeStyle = context.fillStyle = stroke(trial.scheme);
        context.setLineDash(shape(trial.scheme).dash ?? []);
        context.globalAlpha = trial.state === "begun" ? 0.45 : 1;
        context.beginPath();
        for (const [step, value] of trial.held_out) {
          context.lineTo(placeX(step), placeY(value));
          context.fillRect(placeX(step) - 2, placeY(value) - 2, 4, 4);
        }
        context.stroke();
      }
      context.setLineDash([]);
      context.globalAlpha = 1;
      if (steps.length) {
        context.strokeStyle = theme.soft;
        context.setLineDash([4, 4]);
        context.beginPath();
        context.moveTo(placeX(steps[cursor]), area[1]);
        context.lineTo(placeX(steps[cursor]), area[1] + area[3]);
        context.stroke();
        context.setLineDash([]);
      }
      return area;
    },
  };
}

function draw() {
  const { trials } = latest;
  const schemes = latest.schemes.filter((scheme) => !hidden.schemes.has(scheme));
  for (const task of latest.tasks) {
    const off = hidden.tasks.has(task);
    for (const [part, of] of [["scores", scores], ["curves", curves]]) {
      const place = figure(part, task, task);
      place.element.hidden = off || (part === "curves" && !latest.curves);
      if (!place.element.hidden) place.set(of(task, schemes, trials));
    }
  }
  at("curves-about").textContent = latest.curves ? "A line for each training; a pale one for those that still run."
    : "The study has too many trials to draw a line for each; the report has their means.";
  const failed = trials.filter((trial) => trial.state === "failed" && !hidden.tasks.has(trial.task)
    && !hidden.schemes.has(trial.scheme));
  at("failed").replaceChildren(...failed.map((trial) => {
    const row = document.createElement("tr");
    for (const text of [trial.task, trial.scheme, trial.seed, trial.reason]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
  at("failed-title").closest("section").hidden = failed.length === 0;
}

/** Shows what the server says about the folder. */
function show(now) {
  at("folder").textContent = now.folder ?? "";
  const isStudy = now.state === "study";
  at("study").hidden = !isStudy;
  at("message").textContent = now.state === "none"
    ? "No study was named. Start the page with its folder: pe-lab serve FOLDER" : now.message;
  if (!isStudy) return;
  latest = now;
  const { planned, done, failed, begun, seconds_left: left } = now;
  at("progress").max = Math.max(planned, 1);
  at("progress").value = done + failed;
  const waiting = planned - done - failed - begun;
  const counts = begun || waiting
    ? `${done} of ${planned} trials done, ${failed} failed, ${begun} begun, ${waiting} waiting.`
    : `The study has finished: ${done} of ${planned} trials done, ${failed} failed.`;
  const until = left > 0 ? ` About ${time(left)} left${begun > 1 ? `, ${begun} trials at a time` : ""}.` : "";
  const rates = now.choosing && done + failed < planned
    ? ` ${now.choosing} trainings to choose learning rates so far; they come first.` : "";
  const said = counts + rates + until;
  if (at("counts").textContent !== said) at("counts").textContent = said;
  at("report").hidden = !now.report;
  at("verdict-part").hidden = now.verdict.length === 0;
  at("verdict").replaceChildren(...now.verdict.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
  boxes("schemes", now.schemes);
  boxes("tasks", now.tasks);
  draw();
}

async function ask() {
  let text = null;
  try {
    text = await (await fetch("/api/study")).text();
  } catch (error) {
    at("message").textContent = `pe-lab does not answer (${error.message}); is it still running?`;
  }
  // What has not changed is not drawn again.
  if (text !== null && text !== ask.before) show(JSON.parse(text));
  ask.before = text;
  document.documentElement.dataset.ready = "yes";
  setTimeout(ask, EVERY);
}

ask();
