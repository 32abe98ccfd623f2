// Curves on a canvas, for the live page and for reports: values under the pointer, a legend that switches series on and off,
// and zoom (drag along the x axis; a double click shows everything again).
"use strict";

const Chart = (() => {
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element[name] = value;
      else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  };
  // Makes `elements` the children of `list`. Those that stay are not moved: they keep the keyboard's focus.
  const arrange = (list, elements) => {
    const stays = new Set(elements);
    for (const child of [...list.children]) if (!stays.has(child)) child.remove();
    elements.forEach((element, i) => { if (list.children[i] !== element) list.insertBefore(element, list.children[i] ?? null); });
  };
  const number = x => x === null || x === undefined ? "–" : Math.abs(x) >= 1e7 ? x.toExponential(2) : Math.abs(x) >= 1e4 ? x.toFixed(0) : Number(x.toPrecision(4)).toString();
  const duration = s => {
    if (s === null || s === undefined) return "";
    const whole = Math.max(0, Math.round(s));
    if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, "0")} min`;
    return whole >= 60 ? `${Math.floor(whole / 60)} min` : `${whole} s`;
  };
  const short = x => Math.abs(x) >= 1e6 ? `${Number((x / 1e6).toPrecision(3))}M` : Math.abs(x) >= 1e4 ? `${Number((x / 1e3).toPrecision(3))}k` : Number(x.toPrecision(4)).toString();
  const ticks = (low, high, count) => {
    const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, ...power < 10 ? [] : [2.5], 5, 10].map(k => k * power).find(s => s >= rough), out = [];
    for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) out.push(Math.abs(x) < 1e-9 * step ? 0 : x);
    return out;
  };

  // columns of progress.csv that the pages offer first, and their names
  const measures = [["eval_return_mean", "return"], ["eval_success", "share of episodes at the goal"], ["explore_return_mean", "return while exploring"],
    ["eval_length_mean", "length of episodes"], ["q_mean", "value"], ["epistemic", "epistemic uncertainty"], ["aleatoric", "aleatoric uncertainty"],
    ["critic_loss", "critic loss"], ["actor_loss", "actor loss"], ["temperature", "temperature"], ["m", "OVD-Explorer's m"], ["shift", "shift of the mean"],
    ["shift_std", "shift in standard deviations"], ["shift_kl", "KL divergence of the shift"], ["shift_cosine", "cosine of consecutive shifts"],
    ["steps_per_second", "steps per second"]];
  const axes = [["epoch", "over epochs"], ["env_steps", "over environment steps"], ["seconds", "over time"]];
  const axis_titles = {epoch: "epoch", env_steps: "environment steps", seconds: "time"};

  const nearest = (points, x) => {  // points are ordered by x
    let low = 0, high = points.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < x) low = middle; else high = middle;
    }
    return Math.abs(points[low][0] - x) <= Math.abs(points[high][0] - x) ? points[low] : points[high];
  };

  // A series: {name, colour, points: [[x, y], ...], band: [[x, low, high], ...], thin: [points, ...]}; band and thin are optional.
  // colour is a CSS colour or the name of a CSS variable ("--c0"). Black is the colour of text, which a dark page draws light.
  const chart = (canvas, legend) => {
    const room = {left: 52, right: 10, top: 26, bottom: 40}, off = new Set();
    const visible_colour = colour => colour === "#000000" ? "--ink" : colour;
    let series = [], axis = "epoch", measure = "", empty = "", range = null, pointer = null, drag = null, X, x_at;
    const format = x => axis === "seconds" ? duration(x) : short(x);
    const visible = () => series.filter(each => !off.has(each.name));

    const draw = () => {
      const scale = Math.min(devicePixelRatio, 2), width = canvas.clientWidth, height = canvas.clientHeight;
      if (!width) return;
      canvas.width = width * scale;
      canvas.height = height * scale;
      const c = canvas.getContext("2d"), style = getComputedStyle(canvas);
      const ink = name => name.startsWith("--") ? style.getPropertyValue(name) : name;
      c.scale(scale, scale);
      c.font = "12px " + style.fontFamily;
      c.fillStyle = ink("--soft");
      X = null;
      let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
      const inside = x => !range || x >= range[0] && x <= range[1];
      for (const {points, band, thin} of visible()) {
        for (const line of [points, ...thin ?? []])
          for (const [x, y] of line) {
            left = Math.min(left, x); right = Math.max(right, x);
            if (inside(x)) { low = Math.min(low, y); high = Math.max(high, y); }
          }
        for (const [x, bottom, top] of band ?? []) if (inside(x)) { low = Math.min(low, bottom); high = Math.max(high, top); }
      }
      if (left > right) {
        c.textAlign = "center";
        c.fillText(empty, width / 2, height / 2);
        return;
      }
      if (range) [left, right] = range;
      if (low > high) [low, high] = [0, 1];  // no point in the range
      if (low === high) { low -= 1; high += 1; }
      const pad = 0.04 * (high - low);
      low -= pad; high += pad;
      X = x => room.left + (width - room.left - room.right) * (x - left) / (right - left || 1);
      x_at = px => left + (right - left) * (px - room.left) / (width - room.left - room.right);
      const Y = y => height - room.bottom - (height - room.top - room.bottom) * (y - low) / (high - low);
      c.strokeStyle = ink("--line");
      c.lineWidth = 1;
      c.textAlign = "right";
      c.textBaseline = "middle";
      for (const y of ticks(low, high, 5)) {
        c.beginPath(); c.moveTo(room.left, Y(y)); c.lineTo(width - room.right, Y(y)); c.stroke();
        c.fillText(short(y), room.left - 6, Y(y));
      }
      c.textAlign = "center";
      c.textBaseline = "top";
      for (const x of ticks(left, right, Math.max(4, width / 110))) c.fillText(format(x), Math.min(X(x), width - 16), height - room.bottom + 6);
      c.fillText(axis_titles[axis], (room.left + width - room.right) / 2, height - 14);
      c.textAlign = "left";
      c.fillText(measure, 0, 2);

      c.save();
      c.beginPath(); c.rect(room.left, 0, width - room.left - room.right, height - room.bottom + 1); c.clip();
      c.lineJoin = "round";
      const line = (points, thickness, alpha) => {
        c.globalAlpha = alpha;
        c.lineWidth = thickness;
        c.beginPath();
        for (const [x, y] of points) c.lineTo(X(x), Y(y));
        c.stroke();
        if (points.length === 1) c.fillRect(X(points[0][0]) - 1.5, Y(points[0][1]) - 1.5, 3, 3);
        c.globalAlpha = 1;
      };
      for (const {colour, band, thin} of visible()) {
        c.strokeStyle = c.fillStyle = ink(colour);
        if (band) {
          c.globalAlpha = 0.18;
          c.beginPath();
          for (const [x, bottom] of band) c.lineTo(X(x), Y(bottom));
          for (const [x, , top] of [...band].reverse()) c.lineTo(X(x), Y(top));
          c.fill();
          c.globalAlpha = 1;
        }
        for (const points of thin ?? []) line(points, 1, 0.3);
      }
      for (const {colour, points} of visible()) {
        c.strokeStyle = c.fillStyle = ink(colour);
        line(points, 2, 1);
      }
      if (drag) {
        c.globalAlpha = 0.15;
        c.fillStyle = ink("--blue");
        c.fillRect(Math.min(drag.from, drag.to), room.top, Math.abs(drag.to - drag.from), height - room.top - room.bottom);
        c.globalAlpha = 1;
      } else if (pointer !== null) {
        c.strokeStyle = ink("--faint");
        c.lineWidth = 1;
        c.beginPath(); c.moveTo(pointer, room.top); c.lineTo(pointer, height - room.bottom); c.stroke();
        for (const {colour, points} of visible()) {
          if (!points.length) continue;
          const [x, y] = nearest(points, x_at(pointer));
          c.fillStyle = ink(colour);
          c.beginPath(); c.arc(X(x), Y(y), 3.5, 0, 7); c.fill();
        }
      }
      c.restore();
    };
    const items = new Map(), heading = make("li", {class: "at"});  // name of a series -> its line of the legend
    const item_of = name => {
      if (items.has(name)) return items.get(name);
      const toggle = () => { off.has(name) ? off.delete(name) : off.add(name); update(); };
      const swatch = make("i"), button = make("button", {type: "button", class: "name", onclick: toggle}, name), value = make("span");
      items.set(name, {element: make("li", {}, swatch, button, value), swatch, button, value});
      return items.get(name);
    };
    // The values under the pointer, or the last ones.
    const write_legend = () => {
      const at = pointer !== null && X ? x_at(pointer) : null;
      if (at !== null) heading.textContent = `${axis === "epoch" ? "epoch " : axis === "seconds" ? "after " : ""}${format(Math.round(at))}${axis === "env_steps" ? " steps" : ""}`;
      arrange(legend, [...at === null ? [] : [heading], ...series.map(({name, colour, points}) => {
        const {element, swatch, button, value} = item_of(name);
        swatch.style.setProperty("--swatch", colour.startsWith("--") ? `var(${colour})` : colour);
        element.className = off.has(name) ? "off" : "";
        button.setAttribute("aria-pressed", String(!off.has(name)));
        const point = !points.length ? null : at === null ? points[points.length - 1] : nearest(points, at);
        value.textContent = point ? number(point[1]) : "";
        return element;
      })]);
    };
    const update = () => { draw(); write_legend(); };

    const place = event => event.clientX - canvas.getBoundingClientRect().left;
    canvas.onpointermove = event => {
      pointer = place(event);
      if (drag) drag.to = pointer;
      update();
    };
    canvas.onpointerdown = event => { if (X && event.pointerType === "mouse") { drag = {from: place(event), to: place(event)}; canvas.setPointerCapture(event.pointerId); } };
    canvas.onpointerup = () => {
      if (drag && X && Math.abs(drag.to - drag.from) > 8) range = [drag.from, drag.to].map(x_at).sort((a, b) => a - b);
      drag = null;
      update();
    };
    canvas.onpointerleave = () => { pointer = null; update(); };
    canvas.ondblclick = () => { range = null; update(); };

    return {
      // `its_measure` is the title of the y axis; `text` stands in a chart without points. Another axis or measure shows everything again.
      show: (next, its_axis, its_measure, text) => {
        if (its_axis !== axis || its_measure !== measure) range = null;
        [series, axis, measure, empty] = [next.map(each => ({...each, colour: visible_colour(each.colour)})), its_axis, its_measure, text];
        update();
      },
      draw,
    };
  };
  return Object.assign(chart, {make, arrange, number, duration, measures, axes});
})();
