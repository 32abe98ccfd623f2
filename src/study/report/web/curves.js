// The curves of a study: one chart for each of its rows, with every recorded measure. The data is in the page (curves.cpp).
"use strict";

for (const place of document.querySelectorAll(".interactive")) {
  const {make} = Chart, data = JSON.parse(place.querySelector("script").textContent);
  const names = new Map(Chart.measures), known = new Set(data.rows.flatMap(row => row.cells.flatMap(cell => Object.keys(cell.values))));
  const offered = [...Chart.measures.map(([name]) => name).filter(name => known.has(name)), ...[...known].filter(name => !names.has(name))];
  const select = (label, options) => make("select", {"aria-label": label}, ...options.map(([value, name]) => make("option", {value}, name)));
  const measure = select("quantity", offered.map(name => [name, names.get(name) ?? name.replaceAll("_", " ")]));
  const axis = select("x axis", Chart.axes.filter(([name]) => data.rows.some(row => row.cells.some(cell => cell.x[name]))));
  axis.value = data.axis;

  const panels = data.rows.map(row => {
    const canvas = make("canvas", {class: "chart", "aria-label": `curves of ${row.name}`}), legend = make("ul", {class: "legend"});
    return {row, chart: Chart(canvas, legend), element: make("section", {}, make("h4", {}, row.name), canvas, legend)};
  });
  const draw = () => {
    for (const {row, chart} of panels) {
      const series = row.cells.map(({column, colour, x, values}) => {
        const across = x[axis.value] ?? [], [low, middle, high] = values[measure.value] ?? [[], [], []];
        const there = middle.map((_, i) => i).filter(i => middle[i] !== null && across[i] !== undefined);
        return {name: column, colour, points: there.map(i => [across[i], middle[i]]), band: there.map(i => [across[i], low[i], high[i]])};
      });
      chart.show(series, axis.value, measure.selectedOptions[0].textContent, "nothing was recorded");
    }
  };
  measure.onchange = axis.onchange = draw;
  addEventListener("resize", () => panels.forEach(({chart}) => chart.draw()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const choices = [measure, axis].map(each => each.options.length > 1 ? each : make("span", {}, each.options[0].textContent));
  place.prepend(make("p", {class: "tools"}, ...choices), make("div", {class: "panels"}, ...panels.map(({element}) => element)));
  document.documentElement.classList.add("alive");
  draw();
}
