// The live page. An event stream brings the progress of all runs; curves, logs and the rest are fetched when they are shown.
// Text from a run's files is only ever inserted as text.
"use strict";

(() => {
  const by_id = id => document.getElementById(id);
  const {make, arrange, number, duration} = Chart;
  const mean = values => {
    const there = values.filter(x => x !== null && x !== undefined);
    return there.length ? there.reduce((a, b) => a + b) / there.length : null;
  };

  // every request carries the token of the page's own address
  const token = new URLSearchParams(location.search).get("token");
  const with_token = path => token ? `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}` : path;
  const ask = path => fetch(with_token(path));

  // ---------- state ----------
  let roots = [], plan = null;
  const runs = new Map();    // number -> the server's summary
  const rows = new Map();    // number -> {count, every, columns}
  const ticked = new Map();  // group -> its colour
  let open_groups = new Set(), chosen = null, first_look = true;  // chosen: name_of() the run that is shown
  const name_of = run => `${run.root}/${run.name}`;

  // The agents of a population are one group; every other run is a group of its own.
  const group_of = run => run.population ? `${run.root}/${run.name.split("/").slice(0, -1).join("/")}` : name_of(run);
  const path_of = key => key.slice(key.indexOf("/") + 1);
  const title_of = key => {
    const root = roots[Number(key.slice(0, key.indexOf("/")))] ?? "", path = path_of(key);
    return path === "" ? root : roots.length > 1 ? `${root}/${path}` : path;
  };
  const groups = () => {
    const all = new Map();
    for (const run of runs.values()) {
      const key = group_of(run);
      if (!all.has(key)) all.set(key, []);
      all.get(key).push(run);
    }
    return all;
  };
  const kStates = ["failed", "unreadable", "training", "interrupted", "finished"];  // a group has the first of these that a member has
  const state_of = members => kStates.find(state => members.some(run => run.state === state)) ?? "finished";
  const kWords = {training: "training", finished: "finished", interrupted: "interrupted", failed: "failed", unreadable: "cannot be read"};

  const free_colour = () => {
    const used = [...ticked.values()];
    for (let i = 0; ; ++i) if (!used.includes(i)) return i;
  };
  const colour_of = key => `var(--c${ticked.get(key) % 8})`;
  const tick = (key, on) => {
    if (on && !ticked.has(key)) ticked.set(key, free_colour());
    if (!on) ticked.delete(key);
    changed();
  };

  // ---------- the list ----------
  const lines = new Map();  // key of a group, or "agent/<name>" -> its line
  const line_of = (key, build) => {
    if (!lines.has(key)) lines.set(key, build());
    return lines.get(key);
  };
  const set_text = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  const build_line = (key, on_name, with_box) => {
    const box = with_box ? make("input", {type: "checkbox", "aria-label": "compare", onchange: () => tick(key, box.checked)}) : make("span");
    const name = make("button", {class: "name", type: "button", onclick: on_name});
    const state = make("span", {class: "state"}), what = make("span");
    const more = make("button", {class: "more", type: "button", hidden: true});
    const bar = make("i"), value = make("span", {class: "number"}), left = make("span", {class: "left"});
    const element = make("div", {class: "run"}, box, make("div", {}, make("div", {class: "title"}, name, more),
      make("span", {class: "what"}, state, what), make("span", {class: "bar"}, bar)), value, left);
    return {element, box, name, state, what, more, bar, value, left};
  };
  const fill_line = (line, title, members, is_agent) => {
    const state = state_of(members), all = members.reduce((sum, run) => sum + run.epochs, 0);
    const done = members.reduce((sum, run) => sum + run.epoch, 0), first = members[0];
    line.element.className = `run ${state}${is_agent ? " agent" : ""}`;
    set_text(line.name, title);
    line.name.title = title;
    set_text(line.state, kWords[state]);
    const at = Math.min(...members.map(run => run.epoch)), problem = members.find(run => run.message);
    const epoch = at !== first.epochs ? `epoch ${at} of ${first.epochs}` : at ? `${at} epoch${at === 1 ? "" : "s"}` : "";
    const what = is_agent ? [epoch] : [epoch, first.task, first.algorithm, members.length > 1 ? `${members.length} agents` : ""];
    set_text(line.what, what.filter(Boolean).map(part => `, ${part}`).join("") + (problem ? `: ${problem.message}` : ""));
    line.what.parentElement.title = line.what.parentElement.textContent;
    line.bar.style.width = `${all ? 100 * done / all : 0}%`;
    set_text(line.value, number(mean(members.map(run => run.return))));
    const times = members.map(run => run.left).filter(x => x !== null && x !== undefined);
    set_text(line.left, state === "training" && times.length ? duration(Math.max(...times)) : "");
  };
  const matches = (key, members, words) => {
    const text = [title_of(key), members[0].task, members[0].algorithm, kWords[state_of(members)]].join(" ").toLowerCase();
    return words.every(word => text.includes(word));
  };

  const nothing_yet = make("p", {class: "lead"}, "There are no runs in these folders yet; new runs appear here.");
  const draw_list = all => {
    const words = by_id("filter").value.toLowerCase().split(/\s+/).filter(Boolean), order = [];
    for (const [key, members] of all) {
      if (!matches(key, members, words)) continue;
      const line = line_of(key, () => build_line(key, () => choose(name_of(all_members(key)[0])), true));
      fill_line(line, title_of(key), members, false);
      line.box.checked = ticked.has(key);
      line.element.style.setProperty("--swatch", ticked.has(key) ? colour_of(key) : "");
      line.element.classList.toggle("chosen", members.some(run => name_of(run) === chosen));
      line.more.hidden = members.length < 2;
      line.more.textContent = open_groups.has(key) ? "fewer" : "agents";
      line.more.onclick = () => { open_groups.has(key) ? open_groups.delete(key) : open_groups.add(key); changed(); };
      order.push(line.element);
      if (members.length > 1 && open_groups.has(key))
        for (const run of members) {
          const agent = line_of(`agent/${name_of(run)}`, () => build_line(null, () => choose(name_of(run)), false));
          fill_line(agent, run.name.split("/").pop(), [run], true);
          agent.element.classList.toggle("chosen", name_of(run) === chosen);
          order.push(agent.element);
        }
    }
    arrange(by_id("runs"), all.size ? order : [nothing_yet]);
    by_id("heads").hidden = !order.length;
  };
  const all_members = key => groups().get(key) ?? [];

  // ---------- the study ----------
  // The grid of the plan; without one, of folders row/column.
  const study = all => {
    if (plan) return {...plan, key: cell => `0/${cell.folder}`};
    for (let root = 0; root < roots.length; ++root) {
      const keys = [...all.keys()].filter(key => key.startsWith(`${root}/`)), paths = keys.map(key => path_of(key).split("/"));
      if (keys.length < 2 || !paths.every(path => path.length === 2)) continue;
      return {title: roots.length > 1 ? `Study ${roots[root]}` : "Study", rows: [...new Set(paths.map(p => p[0]))], columns: [...new Set(paths.map(p => p[1]))],
              cells: paths.map((p, i) => ({row: p[0], column: p[1], key: keys[i], runs: all.get(keys[i]).length})), key: cell => cell.key};
    }
    return null;
  };
  const grid_parts = new Map();  // headings, rows and cells of the grid
  const part = (names, build) => {
    const key = JSON.stringify(names);
    if (!grid_parts.has(key)) grid_parts.set(key, build());
    return grid_parts.get(key);
  };
  const build_cell = () => {
    const text = make("span"), bar = make("i"), strip = make("span", {class: "bar"}, bar), button = make("button", {type: "button"}, text, strip);
    return {td: make("td", {}, button), button, text, strip, bar};
  };
  by_id("grid").append(make("thead", {}, make("tr")), make("tbody"));
  const draw_study = all => {
    const found = study(all);
    by_id("study").hidden = !found;
    if (!found) return;
    set_text(by_id("study-title"), found.title);
    const head = name => part(["column", name], () => make("th", {}, name)), row_of = row => part(["row", row], () => make("tr", {}, make("th", {}, row)));
    arrange(by_id("grid").tHead.rows[0], [head(""), ...found.columns.map(head)]);
    arrange(by_id("grid").tBodies[0], found.rows.map(row_of));
    const cells = new Map(found.cells.map(cell => [JSON.stringify([cell.row, cell.column]), cell]));
    const cell_of = (row, column) => {
      const shown = part(["cell", row, column], build_cell), cell = cells.get(JSON.stringify([row, column]));
      const key = cell && found.key(cell), members = all.get(key);
      shown.button.disabled = shown.strip.hidden = !members;
      if (!members) {
        set_text(shown.text, cell ? "not started" : "");
        shown.td.className = "waiting";
        return shown.td;
      }
      const state = state_of(members), ended = members.filter(run => run.state === "finished").length;
      const share = members.reduce((sum, run) => sum + run.epoch, 0) / Math.max(1, members.reduce((sum, run) => sum + run.epochs, 0));
      set_text(shown.text, state === "finished" && ended >= cell.runs ? `${ended}` : `${ended} of ${cell.runs}`);
      shown.bar.style.width = `${100 * share}%`;
      shown.button.title = kWords[state];
      shown.td.className = state + (ticked.has(key) ? " ticked" : "");
      shown.button.onclick = () => tick(key, !ticked.has(key));
      return shown.td;
    };
    for (const row of found.rows) arrange(row_of(row), [row_of(row).firstChild, ...found.columns.map(column => cell_of(row, column))]);
  };

  // ---------- curves ----------
  by_id("metric").append(...Chart.measures.map(([value, name]) => make("option", {value}, name)));
  by_id("axis").append(...Chart.axes.map(([value, name]) => make("option", {value}, name)));
  const chart = Chart(by_id("chart"), by_id("legend"));
  // The terms of a reward, which depend on the task.
  const offer_metric = name => {
    const list = by_id("metric");
    if (name.startsWith("reward_") && ![...list.options].some(option => option.value === name))
      list.append(make("option", {value: name}, `reward: ${name.slice(7)}`));
  };

  const asking = new Set(), asked_for = new Map();  // runs being fetched; number of rows of each run at the last request
  const kAtOnce = 4;  // requests at a time
  const fetch_rows = async run => {
    if (asking.has(run.id) || asking.size >= kAtOnce || asked_for.get(run.id) === run.rows) return;
    let known = rows.get(run.id);
    if (known && known.count > run.rows) rows.delete(run.id), known = null;  // the run was resumed from a checkpoint
    asking.add(run.id);
    asked_for.delete(run.id);  // so that the map is in the order of the requests
    asked_for.set(run.id, run.rows);
    try {
      const answer = await ask(`/run/rows?id=${run.id}&from=${known?.count ?? 0}&every=${known?.every ?? 1}`);
      if (!answer.ok) return;
      const got = await answer.json();
      if (known && got.every === known.every)
        for (const [name, values] of Object.entries(got.columns)) known.columns[name].push(...values);
      else rows.set(run.id, known = {columns: got.columns});
      for (const name of Object.keys(got.columns)) offer_metric(name);
      known.count = got.count;
      known.every = got.every;
    } catch { /* the event stream reports a lost connection */ } finally {
      asking.delete(run.id);
      changed();
    }
  };

  // The runs that have waited longest come first.
  const fetch_all = wanted => {
    const order = [...asked_for.keys()], turn = new Map(wanted.map(run => [run, order.indexOf(run.id)]));
    [...wanted].sort((a, b) => turn.get(a) - turn.get(b)).forEach(fetch_rows);
  };

  // [[x, y, epoch], ...] of a run, smoothed over `width` epochs.
  const curve = (run, metric, axis, width) => {
    const known = rows.get(run.id);
    if (!known) return [];
    const {[metric]: y, [axis]: x, epoch} = known.columns, out = [], recent = [];
    for (let i = 0; i < (y?.length ?? 0); ++i) {
      if (y[i] === null) continue;
      recent.push(y[i]);
      if (recent.length > Math.max(1, width / known.every)) recent.shift();
      out.push([x[i], mean(recent), epoch[i]]);
    }
    return out;
  };
  // The mean of several runs, at the epochs that all of them have.
  const mean_curve = curves => {
    const at = curves.map(points => new Map(points.map(point => [point[2], point])));
    const common = [...at[0].keys()].filter(epoch => at.every(points => points.has(epoch)));
    return common.map(epoch => [0, 1].map(i => mean(at.map(points => points.get(epoch)[i]))));
  };
  const draw_chart = all => {
    const metric = by_id("metric").selectedOptions[0], axis = by_id("axis").value, smooth = Number(by_id("smooth").value), series = [];
    const shown = [...ticked.keys()].flatMap(key => all.get(key));
    fetch_all(shown);
    for (const key of ticked.keys()) {
      const curves = all.get(key).map(run => curve(run, metric.value, axis, smooth)).filter(points => points.length);
      if (!curves.length) continue;
      const several = curves.length > 1;
      series.push({name: title_of(key) + (several ? ` (mean of ${curves.length})` : ""), colour: `--c${ticked.get(key) % 8}`,
                   points: several ? mean_curve(curves) : curves[0], thin: several ? curves : []});
    }
    const waits = shown.some(run => asking.has(run.id));
    chart.show(series, axis, metric.textContent, !ticked.size ? "tick runs to see their curves" : waits ? "" : "there are no values yet");
  };

  // ---------- one run ----------
  let tab = "log", panel_shows = "", viewer = null;
  const kTabs = [["log", "log"], ["config", "configuration"], ["map", "map"], ["replay", "replay"]];
  const tabs = kTabs.map(([value, name]) =>
    make("button", {type: "button", role: "tab", onclick: () => { tab = value; panel_shows = ""; changed(); }}, name));
  by_id("tabs").append(...tabs);
  const choose = name => {
    chosen = name;
    panel_shows = "";
    history.replaceState(null, "", `#run=${encodeURIComponent(name)}`);
    changed();
  };
  const draw_run = () => {
    const run = [...runs.values()].find(run => name_of(run) === chosen);
    by_id("run").hidden = chosen === null;
    by_id("tabs").hidden = by_id("panel").hidden = !run;
    if (chosen !== null) set_text(by_id("run-title"), title_of(chosen));
    if (!run) return set_text(by_id("run-state"), "the folder of this run is gone");
    set_text(by_id("run-state"), [run.task ? `${run.algorithm} on ${run.task}` : "", run.seed !== undefined ? `seed ${run.seed}` : "", kWords[run.state],
      run.epochs ? `epoch ${run.epoch} of ${run.epochs}` : "", run.rate !== null ? `${number(run.rate)} steps/s` : "",
      run.state === "training" && run.left !== null ? `${duration(run.left)} left` : "", run.message ?? ""].filter(Boolean).join(", "));
    if (tab === "map" && !run.map) tab = "log";
    kTabs.forEach(([value], i) => {
      tabs[i].hidden = value === "map" && !run.map;
      tabs[i].setAttribute("aria-selected", String(value === tab));
    });
    // logs and maps grow with the run; the others are fetched once
    const wanted = `${tab} ${run.id} ${tab === "log" || tab === "map" ? `${run.rows} ${run.state}` : ""}`;
    if (wanted !== panel_shows) {
      const anew = panel_shows.split(" ").slice(0, 2).join(" ") !== `${tab} ${run.id}`;
      panel_shows = wanted;
      show_panel(run, anew);
    }
  };
  const show_panel = async (run, anew) => {
    const panel = by_id("panel"), asked = panel_shows, is_still = () => asked === panel_shows;
    const refuse = text => { if (is_still()) panel.replaceChildren(make("p", {class: "lead"}, text)); };
    if (viewer) { viewer.pause(); viewer = null; }
    try {
      if (tab === "log" || tab === "config") {
        const answer = await ask(`/run/${tab}?id=${run.id}`), text = await answer.text();
        if (!is_still()) return;
        if (!answer.ok) return refuse(text);
        const old = panel.querySelector("pre"), at_end = !old || anew || old.scrollTop + old.clientHeight > old.scrollHeight - 30;
        const pre = old && !anew ? old : make("pre");
        set_text(pre, text);
        if (pre !== old) panel.replaceChildren(pre);
        if (tab === "log" && at_end) pre.scrollTop = pre.scrollHeight;
      } else if (tab === "map") {
        const answer = await ask(`/run/visits?id=${run.id}`);
        if (!answer.ok) return refuse(await answer.text());
        const map = await answer.json();
        if (is_still()) draw_map(panel, map, anew);
      } else {
        const list = await (await ask(`/run/recordings?id=${run.id}`)).json();
        if (!is_still()) return;
        if (!list.length) return refuse("There are no recordings. `ovde eval DIR --record DIR/replays/NAME.json`, with this run's folder as DIR, records episodes that are shown here.");
        const select = make("select", {"aria-label": "recording"}, ...list.map((name, i) => make("option", {value: String(i)}, name)));
        const place = make("div"), show = async () => {
          const answer = await ask(`/run/recording?id=${run.id}&number=${select.value}`);
          if (!answer.ok) return refuse(await answer.text());
          const recording = await answer.json(), box = make("div");
          if (!is_still()) return;
          place.replaceChildren(box);
          viewer = Replay(box, recording);
        };
        select.onchange = show;
        panel.replaceChildren(make("p", {class: "tools"}, select), place);
        select.hidden = list.length < 2;
        await show();
      }
    } catch (error) { refuse(`cannot be shown: ${error.message}`); }
  };
  // Visits on a logarithmic scale over the noise of the task.
  const draw_map = (panel, map, anew) => {
    const n = map.cells, old = panel.querySelector("canvas.map"), canvas = old && !anew ? old : make("canvas", {class: "map", "aria-label": "visited positions"});
    if (canvas !== old) panel.replaceChildren(canvas, make("p", {class: "caption"}));
    set_text(panel.querySelector(".caption"), `Positions after ${map.steps} environment steps (blue, logarithmic) and noise of the task (grey). Orange ring: start${map.goal_radius > 0 ? "; green circle: goal" : ""}.`);
    const size = 12;
    canvas.width = canvas.height = n * size;
    const c = canvas.getContext("2d"), most = Math.log1p(Math.max(...map.visits, 1)), loud = Math.max(...map.noise, 1e-12);
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, style = getComputedStyle(canvas);
    for (let row = 0; row < n; ++row)
      for (let column = 0; column < n; ++column) {
        const i = row * n + column, noise = map.noise[i] / loud, visits = Math.log1p(map.visits[i]) / most;
        const base = dark ? 34 + 26 * noise : 250 - 28 * noise, ink = dark ? [95, 179, 230] : [0, 84, 140];
        c.fillStyle = `rgb(${ink.map(v => Math.round(base + visits * (v - base)))})`;
        c.fillRect(column * size, (n - 1 - row) * size, size, size);
      }
    const place = p => [0, 1].map(k => { const share = (p[k] - map.low[k]) / (map.high[k] - map.low[k]); return n * size * (k ? 1 - share : share); });
    c.lineWidth = 3;
    if (map.goal_radius > 0) {
      c.strokeStyle = style.getPropertyValue("--green");
      c.beginPath(); c.arc(...place(map.goal), n * size * map.goal_radius / (map.high[0] - map.low[0]), 0, 7); c.stroke();
    }
    c.strokeStyle = style.getPropertyValue("--orange");
    c.beginPath(); c.arc(...place(map.start), 6, 0, 7); c.stroke();
  };

  // ---------- drawing, once for several changes ----------
  let asked_to_draw = false;
  const changed = () => {
    if (asked_to_draw) return;
    asked_to_draw = true;
    setTimeout(() => { asked_to_draw = false; draw(); }, 30);
  };
  const draw = () => {
    const all = groups(), counts = new Map();
    for (const key of ticked.keys()) if (!all.has(key)) ticked.delete(key);
    for (const run of runs.values()) counts.set(run.state, (counts.get(run.state) ?? 0) + 1);
    const parts = ["training", "finished", "interrupted", "failed", "unreadable"].filter(state => counts.has(state)).map(state => `${counts.get(state)} ${kWords[state]}`);
    set_text(by_id("summary"), runs.size ? `${runs.size} run${runs.size === 1 ? "" : "s"}: ${parts.join(", ")}` : "no run yet");
    draw_study(all);
    draw_list(all);
    draw_chart(all);
    draw_run();
  };
  const take = list => {
    for (const run of list) {
      if (!run.gone) runs.set(run.id, run);
      else for (const map of [runs, rows, asked_for]) map.delete(run.id);
    }
    if (first_look && runs.size) begin();
    changed();
  };
  // The first curves shown are those of running trainings, if there are any.
  const begin = () => {
    first_look = false;
    const all = [...groups()], training = all.filter(([, members]) => state_of(members) === "training"), some = training.length ? training : all;
    for (const [key] of some.slice(0, 6)) ticked.set(key, free_colour());
    const asked = decodeURIComponent(location.hash.replace("#run=", ""));
    chosen = name_of([...runs.values()].find(run => name_of(run) === asked) ?? some[0][1][0]);
  };

  by_id("filter").oninput = changed;
  by_id("none").onclick = () => { ticked.clear(); changed(); };
  for (const id of ["metric", "axis", "smooth"]) by_id(id).onchange = changed;
  addEventListener("resize", changed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

  const connect = () => {
    const events = new EventSource(with_token("/events"));
    events.onopen = () => set_text(by_id("link"), "");
    events.onerror = () => {  // the browser tries again by itself, but not after a refusal
      const refused = events.readyState === EventSource.CLOSED;
      set_text(by_id("link"), refused
        ? "– the server was started again (open the address that it printed) or has too many viewers; this is its last state"
        : "– the server does not answer; this is its last state");
      if (refused) setTimeout(connect, 5000);
    };
    events.addEventListener("state", event => {
      const state = JSON.parse(event.data);
      roots = state.roots;
      plan = state.plan;
      for (const map of [runs, rows, asked_for]) map.clear();  // a server that was started again has other numbers
      panel_shows = "";
      set_text(by_id("title"), roots.join(", "));
      document.title = `${roots.join(", ")} – ovde`;
      set_text(by_id("foot"), `ovde ${state.version}, read-only`);
      take(state.runs);
    });
    events.addEventListener("runs", event => take(JSON.parse(event.data)));
  };
  connect();
})();
