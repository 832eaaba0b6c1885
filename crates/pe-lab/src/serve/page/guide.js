// The live pictures of the guide, each made when it comes near the screen.

import "./address.js";
import { Panel, look } from "./panel.js";

const schemes = await look;
const template = document.querySelector("#live").content.firstElementChild;

function start(place) {
  const element = template.cloneNode(true);
  const link = element.querySelector(".more");
  const state = new Map(new URLSearchParams(place.dataset.settings));
  place.querySelector("img")?.remove();
  place.append(element);
  const lead = () => {
    const settings = [...panel.state].map(([name, value]) => [`a.${name}`, value]);
    link.href = `/#${new URLSearchParams(settings)}`;
  };
  const panel = new Panel(element, schemes, state, {
    changed: lead,
    only: place.dataset.view.split(" "),
    controls: place.dataset.sliders.split(" "),
    prefix: "live",
  });
  lead();
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    start(target);
  }
}, { rootMargin: "400px" });
for (const place of document.querySelectorAll(".live")) near.observe(place);
document.documentElement.dataset.ready = "yes";
