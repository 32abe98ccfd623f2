// The viewer of recorded episodes: the solids in 3-D, and below them charts of reward, value and uncertainties by step.
// Replay(element, recording) shows a recording, whose format is in docs/watching.md.
"use strict";

const Replay = (() => {
  const floats = text => {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };

  // ---------- matrices, column-major as in WebGL ----------
  const product = (a, b) => {
    const out = new Float32Array(16);
    for (let c = 0; c < 4; ++c)
      for (let r = 0; r < 4; ++r)
        for (let k = 0; k < 4; ++k) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return out;
  };
  const perspective = (angle, aspect, near, far) => {
    const f = 1 / Math.tan(angle / 2), d = near - far;
    return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / d, -1, 0, 0, 2 * far * near / d, 0];
  };
  const minus = (a, b) => a.map((x, i) => x - b[i]);
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = a => a.map(x => x / Math.hypot(...a));
  const look_at = (eye, target) => {
    const z = unit(minus(eye, target)), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
    return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1];
  };
  const placed = (p, q) => {  // position, unit quaternion (w, x, y, z)
    const [w, x, y, z] = q;
    return [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
            2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
            2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, p[0], p[1], p[2], 1];
  };

  // ---------- solids as triangles: position and normal of each corner ----------
  const lathe = profile => {  // [radius, z, normal's radius, normal's z], turned about z
    const parts = 40, out = [];
    const corner = ([r, z, nr, nz], k) => {
      const a = 2 * Math.PI * k / parts, c = Math.cos(a), s = Math.sin(a);
      return [r * c, r * s, z, nr * c, nr * s, nz];
    };
    for (let i = 0; i + 1 < profile.length; ++i)
      for (let k = 0; k < parts; ++k) {
        const a = corner(profile[i], k), b = corner(profile[i], k + 1);
        const c = corner(profile[i + 1], k), d = corner(profile[i + 1], k + 1);
        out.push(...a, ...b, ...c, ...b, ...d, ...c);
      }
    return out;
  };
  const arc = (radius, z, from, to) => [...Array(13).keys()].map(i => {
    const a = from + (to - from) * i / 12;
    return [radius * Math.cos(a), z + radius * Math.sin(a), Math.cos(a), Math.sin(a)];
  });
  const half = Math.PI / 2;
  const triangles = ({kind, size: [a, b, c]}) => {
    if (kind === "sphere") return lathe(arc(a, 0, -half, half));
    if (kind === "capsule") return lathe([...arc(a, -b, -half, 0), ...arc(a, b, 0, half)]);
    if (kind === "cylinder")
      return lathe([[0, -b, 0, -1], [a, -b, 0, -1], [a, -b, 1, 0], [a, b, 1, 0], [a, b, 0, 1], [0, b, 0, 1]]);
    if (kind === "ellipsoid") {
      const out = lathe(arc(1, 0, -half, half)), size = [a, b, c];
      for (let i = 0; i < out.length; i += 6) {
        const normal = unit([0, 1, 2].map(k => out[i + 3 + k] / size[k]));
        for (let k = 0; k < 3; ++k) { out[i + k] *= size[k]; out[i + 3 + k] = normal[k]; }
      }
      return out;
    }
    const out = [];  // a box
    for (let axis = 0; axis < 3; ++axis)
      for (const side of [-1, 1])
        for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
          const p = [0, 0, 0], n = [0, 0, 0];
          p[axis] = n[axis] = side; p[(axis + 1) % 3] = u; p[(axis + 2) % 3] = v;
          out.push(p[0] * a, p[1] * b, p[2] * c, ...n);
        }
    return out;
  };

  // ---------- WebGL ----------
  const kVertex = `#version 300 es
    in vec3 position, normal; uniform mat4 camera, model; out vec3 n, at;
    void main() {
      n = mat3(model) * normal;
      vec4 p = model * vec4(position, 1.0);
      at = p.xyz;
      gl_Position = camera * p;
    }`;
  const kSolid = `#version 300 es
    precision highp float; in vec3 n, at; uniform vec4 colour; uniform vec3 light, eye; uniform float shade; out vec4 pixel;
    void main() {
      vec3 m = normalize(n);
      float sun = max(dot(m, light), 0.0), sky = 0.5 + 0.5 * m.z;
      float glint = pow(max(dot(m, normalize(light + normalize(eye - at))), 0.0), 40.0);
      vec3 lit = colour.rgb * (0.42 + 0.2 * sky + 0.5 * sun) + 0.14 * glint;
      pixel = vec4(mix(colour.rgb, lit, shade), colour.a);
    }`;
  const kFloor = `#version 300 es
    precision highp float; in vec3 n, at; uniform vec3 ground, centre; uniform vec4 colour; uniform float reach, tile; out vec4 pixel;
    void main() {  // tiles that fade into the background
      vec2 p = at.xy / tile, w = fwidth(p) + 1e-4, h = abs(fract(p * 0.5) - 0.5) * 2.0;
      vec2 s = clamp((h - 0.5) / w + 0.5, 0.0, 1.0);
      float light = s.x * s.y + (1.0 - s.x) * (1.0 - s.y);
      float fade = smoothstep(reach, 0.3 * reach, distance(at.xy, centre.xy));
      pixel = vec4(mix(ground, colour.rgb * mix(0.94, 1.0, light), fade), 1.0);
    }`;

  const program = (gl, fragment) => {
    const made = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, kVertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.bindAttribLocation(made, 0, "position");
    gl.bindAttribLocation(made, 1, "normal");
    gl.linkProgram(made);
    const places = {};
    return {use: () => gl.useProgram(made), at: name => places[name] ??= gl.getUniformLocation(made, name)};
  };
  const mesh = (gl, numbers) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
    for (const i of [0, 1]) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 24, 12 * i);
    }
    return {array, count: numbers.length / 6};
  };

  // The path of a point as a ribbon on the ground: two corners for every step.
  const ribbon = (poses, width) => {
    const out = [], count = poses.length / 7;
    for (let i = 0; i < count; ++i) {
      const a = Math.max(i - 1, 0), b = Math.min(i + 1, count - 1);
      const d = [poses[7 * b] - poses[7 * a], poses[7 * b + 1] - poses[7 * a + 1]];
      const length = Math.hypot(...d) || 1;
      for (const side of [-width, width])
        out.push(poses[7 * i] - d[1] / length * side, poses[7 * i + 1] + d[0] / length * side, 0, 0, 0, 1);
    }
    return out;
  };

  class Stage {
    constructor(canvas, recording) {
      this.canvas = canvas;
      this.recording = recording;
      this.gl = canvas.getContext("webgl2", {alpha: false, antialias: true, stencil: true});
      if (!this.gl || !recording.moving) return;
      const gl = this.gl;
      this.solid = program(gl, kSolid);
      this.floor = program(gl, kFloor);
      const meshes = {};
      this.items = recording.solids.filter(s => s.kind !== "plane").map(s => ({
        colour: s.colour, mesh: meshes[s.kind + s.size] ??= mesh(gl, triangles(s)), reach: Math.max(...s.size),
        model: s.position ? placed(s.position, s.orientation) : null,
      }));
      const plane = recording.solids.find(s => s.kind === "plane" && s.position);
      this.ground = plane ? plane.position[2] : 0;
      this.plane = plane ? mesh(gl, [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]
        .flatMap(([x, y]) => [200 * x, 200 * y, this.ground, 0, 0, 1])) : null;
      this.plane_colour = plane && Math.min(...plane.colour.slice(0, 3)) < 0.99 ? plane.colour : null;
      this.casts_shadows = plane || recording.leaves_path;
      this.frame();
    }
    get works() { return Boolean(this.gl && this.items); }

    // The initial view: all moving solids are visible; flat scenes are seen from above.
    frame() {
      const poses = this.recording.episodes[0].floats.poses, low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
      const include = (p, reach) => p.forEach((x, k) => {
        low[k] = Math.min(low[k], x - reach);
        high[k] = Math.max(high[k], x + reach);
      });
      const moving = this.items.filter(item => !item.model);
      moving.forEach((item, i) => include([...poses.slice(7 * i, 7 * i + 3)], item.reach));
      if (this.recording.leaves_path)
        this.items.filter(item => item.model).forEach(item => include(item.model.slice(12, 15), item.reach));
      const size = minus(high, low), span = Math.max(...size), flat = size[2] < 0.35 * Math.max(size[0], size[1]);
      this.still = this.recording.leaves_path ? low.map((x, k) => (x + high[k]) / 2) : null;
      this.view = {yaw: this.still ? -1.75 : -1.25, pitch: this.still ? 0.85 : flat ? 0.8 : 0.25,
                   distance: (this.still ? 1.6 : 2.0) * span};
      this.target = null;
    }

    show_episode(episode) {
      this.poses = episode.floats.poses;
      this.target = null;
      if (this.works && this.recording.leaves_path)
        this.path = mesh(this.gl, ribbon(this.poses, 0.16 * this.items[0].reach));
    }

    // Interpolates between two steps.
    pose(item, time) {
      const n = 7 * this.recording.moving, last = this.poses.length / n - 1;
      const step = Math.min(Math.floor(time), last), next = Math.min(step + 1, last), share = time - step;
      const a = this.poses.subarray(step * n + 7 * item, step * n + 7 * item + 7);
      const b = this.poses.subarray(next * n + 7 * item, next * n + 7 * item + 7);
      const sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
      const mix = [...a].map((x, k) => x + share * ((k < 3 ? b[k] : sign * b[k]) - x));
      return {position: mix.slice(0, 3), orientation: unit(mix.slice(3))};
    }

    draw(time, colours) {
      if (!this.works) return;
      const {gl, canvas} = this, scale = Math.min(devicePixelRatio, 2);
      canvas.width = Math.max(1, canvas.clientWidth * scale);
      canvas.height = Math.max(1, canvas.clientHeight * scale);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(...colours.ground, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);

      // moving solids, and the point that the camera follows
      let moved = 0;
      const middle = [0, 0, 0];
      const models = this.items.map(item => {
        if (item.model) return item.model;
        const {position, orientation} = this.pose(moved++, time);
        position.forEach((x, k) => middle[k] += x / this.recording.moving);
        return placed(position, orientation);
      });
      this.target = this.still ?? this.fixed ?? (this.target ? this.target.map((x, k) => x + 0.15 * (middle[k] - x)) : middle);
      const stays = this.still || this.fixed;
      if (Math.hypot(...minus(this.target, middle)) > this.view.distance && !stays) this.target = middle;
      const {yaw, pitch, distance} = this.view;
      const eye = [Math.cos(yaw) * Math.cos(pitch), Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch)]
        .map((x, k) => this.target[k] + distance * x);
      if (this.plane) eye[2] = Math.max(eye[2], this.ground + 0.02 * distance);
      const camera = product(perspective(0.7, canvas.width / canvas.height, 0.02 * distance, 60 * distance),
                             look_at(eye, this.target));

      if (this.plane) {
        this.floor.use();
        gl.uniformMatrix4fv(this.floor.at("camera"), false, camera);
        gl.uniformMatrix4fv(this.floor.at("model"), false,
                            placed([Math.round(this.target[0] / 2) * 2, Math.round(this.target[1] / 2) * 2, 0], [1, 0, 0, 0]));
        gl.uniform3fv(this.floor.at("ground"), colours.ground);
        gl.uniform4fv(this.floor.at("colour"), colours.tiles);
        gl.uniform3fv(this.floor.at("centre"), this.target);
        gl.uniform1f(this.floor.at("reach"), 8 * distance);
        gl.uniform1f(this.floor.at("tile"), distance < 1.2 ? 0.1 : distance > 30 ? 10 : 1);  // metres
        gl.bindVertexArray(this.plane.array);
        gl.drawArrays(gl.TRIANGLES, 0, this.plane.count);
      }

      this.solid.use();
      const light = unit([-0.35, -0.45, 1]);
      gl.uniformMatrix4fv(this.solid.at("camera"), false, camera);
      gl.uniform3fv(this.solid.at("light"), light);
      gl.uniform3fv(this.solid.at("eye"), eye);
      const put = (item, model, colour, shade) => {
        gl.uniformMatrix4fv(this.solid.at("model"), false, model);
        gl.uniform4fv(this.solid.at("colour"), colour);
        gl.uniform1f(this.solid.at("shade"), shade);
        gl.bindVertexArray(item.array);
      };
      this.items.forEach((item, i) => {
        put(item.mesh, models[i], item.colour.slice(0, 3).concat(1), 1);
        gl.drawArrays(gl.TRIANGLES, 0, item.mesh.count);
      });

      // the path: strong up to now, faint beyond
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      if (this.path) {
        const lift = placed([0, 0, this.ground + 0.001 * distance], [1, 0, 0, 0]);
        const colour = this.items[0].colour.slice(0, 3);
        for (const [count, alpha] of [[this.path.count, 0.25], [2 * Math.floor(time) + 2, 0.9]]) {
          put(this.path, lift, colour.concat(alpha), 0);
          gl.drawArrays(gl.TRIANGLE_STRIP, 0, Math.min(count, this.path.count));
          lift[14] *= 1.3;
        }
      }

      // shadows on the ground; the stencil shades each pixel once
      if (this.casts_shadows) {
        const z = this.ground + 0.002 * distance, [x, y, h] = light;
        const down = [1, 0, 0, 0, 0, 1, 0, 0, -x / h, -y / h, 0, 0, x / h * z, y / h * z, z, 1];
        gl.enable(gl.STENCIL_TEST);
        gl.stencilFunc(gl.EQUAL, 0, 1);
        gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
        this.items.forEach((item, i) => {
          if (item.model) return;
          put(item.mesh, product(down, models[i]), [0, 0, 0, 0.22], 0);
          gl.drawArrays(gl.TRIANGLES, 0, item.mesh.count);
        });
        gl.disable(gl.STENCIL_TEST);
      }
      gl.disable(gl.BLEND);
      // whether the camera has reached its target
      return stays || Math.hypot(...minus(this.target, middle)) < 1e-3 * distance;
    }
  }

  // ---------- charts ----------
  const number = x => Math.abs(x) >= 1000 ? x.toFixed(0) : Number(x.toPrecision(3)).toString();
  const strips = recording => {
    const all = [{name: "reward", colour: "--ink", of: e => [e.rewards]}];
    const terms = recording.reward_terms ?? [];
    terms.forEach((name, k) => all.push({name: `reward: ${name}`, colour: "--soft", of: (e, steps) => e.terms
      ? [Float32Array.from({length: steps}, (_, i) => e.terms[i * terms.length + k])] : [undefined]}));
    if (recording.episodes.some(e => e.value)) {
      all.push({name: "value", colour: "--green", of: e => [e.value]});
      all.push({name: "epistemic uncertainty", colour: "--blue", of: e => [e.epistemic], from_zero: true});
      if (recording.distributional)
        all.push({name: "aleatoric uncertainty", colour: "--orange", of: e => [e.aleatoric], from_zero: true});
    }
    all.push({name: "action", colour: "--faint", of: (e, steps) => [...Array(recording.actions).keys()]
      .map(d => Float32Array.from({length: steps}, (_, i) => e.actions[i * recording.actions + d]))});
    return all;
  };
  const kStrip = 62;

  const draw_strips = (canvas, lines, steps, step) => {
    const scale = Math.min(devicePixelRatio, 2), width = canvas.clientWidth, height = kStrip * lines.length;
    canvas.style.height = height + "px";
    canvas.width = width * scale;
    canvas.height = height * scale;
    const c = canvas.getContext("2d"), style = getComputedStyle(canvas), ink = name => style.getPropertyValue(name);
    c.scale(scale, scale);
    c.font = "12.5px " + style.fontFamily;
    const x = i => 1 + (width - 2) * i / Math.max(steps - 1, 1);
    lines.forEach((line, k) => {
      const top = kStrip * k + 20, bottom = kStrip * (k + 1) - 6;
      c.fillStyle = ink("--soft");
      c.textAlign = "left";
      c.fillText(line.name, 0, top - 6);
      c.textAlign = "right";
      if (line.values.length === 1) c.fillText(number(line.values[0][step] ?? 0), width, top - 6);
      c.fillStyle = ink("--wash");
      c.fillRect(0, top, width, bottom - top);
      const y = v => bottom - 3 - (bottom - top - 6) * (v - line.low) / (line.high - line.low || 1);
      c.strokeStyle = ink(line.colour);
      c.lineWidth = line.values.length > 1 ? 0.8 : 1.4;
      for (const values of line.values) {
        c.beginPath();
        for (let i = 0; i < steps; ++i) c.lineTo(x(i), y(values[i]));
        c.stroke();
        c.fillStyle = ink(line.colour);
        c.beginPath();
        c.arc(x(step), y(values[step]), line.values.length > 1 ? 2 : 3, 0, 7);
        c.fill();
      }
    });
    c.strokeStyle = ink("--faint");
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(x(step), 16);
    c.lineTo(x(step), height - 4);
    c.stroke();
  };

  const make = (parent, tag, attributes = {}, text = "") => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    parent.append(element);
    return element;
  };

  return function Replay(element, recording) {
    if (recording.format !== "ovde replay 1") throw Error("not a recording that this page can show");
    for (const episode of recording.episodes) {
      episode.floats = {};
      for (const name of ["poses", "actions", "rewards", "terms", "value", "epistemic", "aleatoric"])
        if (episode[name] !== undefined) episode.floats[name] = floats(episode[name]);
    }
    element.classList.add("replay");
    const box = make(element, "div", {class: "stage"}), canvas = make(box, "canvas", {tabindex: "0", "aria-label": "the episode in 3-D"});
    const note = make(box, "p");
    const controls = make(element, "div", {class: "controls"});
    const button = make(controls, "button", {type: "button"}, "play");
    const slider = make(controls, "input", {type: "range", min: "0", step: "1", value: "0", "aria-label": "step"});
    const readout = make(controls, "output");
    const speed = make(controls, "select", {"aria-label": "speed"});
    for (const [name, value] of [["¼ speed", 0.25], ["½ speed", 0.5], ["speed 1", 1], ["speed 2", 2], ["speed 4", 4]])
      make(speed, "option", {value: String(value)}, name);
    speed.value = "1";
    const loop = make(make(controls, "label", {}, "loop "), "input", {type: "checkbox"});
    const camera = make(controls, "select", {"aria-label": "camera"});
    for (const name of ["camera follows", "camera stays"]) make(camera, "option", {}, name);
    const chooser = make(controls, "select", {"aria-label": "episode"});
    recording.episodes.forEach((e, i) => make(chooser, "option", {value: String(i)},
      `episode ${i + 1}: return ${number(e.return)}${recording.has_goal ? e.success ? ", goal reached" : ", goal not reached" : ""}`));
    chooser.hidden = recording.episodes.length < 2;
    if (recording.critics) make(element, "p", {class: "critics"}, `Critics: ${recording.critics}.`);
    const charts = make(element, "canvas", {class: "charts", "aria-label": "reward, value and uncertainties at each step"});

    const stage = new Stage(canvas, recording);
    if (!stage.works) {
      note.textContent = recording.moving ? "The picture needs WebGL 2, which this browser does not offer."
                                          : "This task has no picture: its environment lists no solids.";
      canvas.style.aspectRatio = "auto";
      canvas.style.height = "2rem";
    }
    camera.hidden = !stage.works || Boolean(stage.still);
    camera.onchange = () => { stage.fixed = camera.selectedIndex === 1 ? stage.target : null; ask(); };

    const per_second = recording.seconds_per_step > 0 ? 1 / recording.seconds_per_step : 20;
    let episode, lines, steps = 1, time = 0, playing = false, before = 0, asked = false, settled = false;

    const choose = index => {
      episode = recording.episodes[index];
      steps = episode.steps;
      slider.max = String(steps - 1);
      stage.show_episode(episode);
      lines = strips(recording).filter(s => s.name === "action" || s.of(episode.floats)[0]).map(s => {
        const values = s.of(episode.floats, steps);
        let low = s.from_zero ? 0 : Infinity, high = -Infinity;
        for (const v of values.flatMap(a => [...a])) { low = Math.min(low, v); high = Math.max(high, v); }
        if (s.name === "action") [low, high] = [-1, 1];
        return {...s, values, low, high};
      });
      seek(0);
    };
    const colours = () => {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(element).colorScheme.includes("dark");
      return dark ? {ground: [0.117, 0.129, 0.145], tiles: [0.2, 0.215, 0.235, 1]}
                  : {ground: [0.96, 0.96, 0.953], tiles: [0.88, 0.885, 0.89, 1]};
    };
    const draw = () => {
      settled = stage.draw(time, colours()) ?? true;
      const step = Math.min(Math.floor(time), steps - 1);
      slider.value = String(step);
      const clock = recording.seconds_per_step > 0 ? `, ${(step * recording.seconds_per_step).toFixed(2)} s` : "";
      readout.textContent = `step ${step + 1} of ${steps}${clock}`;
      draw_strips(charts, lines, steps, step);
    };
    const advance = seconds => {
      if (playing) time += seconds * per_second * Number(speed.value);
      if (time >= steps && loop.checked && playing) { time %= steps; stage.target = null; }
      if (time >= steps) { time = steps; pause(); }
      draw();
    };
    const tick = now => {
      asked = false;
      advance(Math.min(now - before, 100) / 1000);
      before = now;
      if (playing || !settled) ask();
    };
    const ask = () => { if (!asked) { asked = true; requestAnimationFrame(tick); } };
    const seek = step => { time = Math.max(0, Math.min(step, steps - 1)); stage.target = null; ask(); };
    const play = () => {
      if (time >= steps - 1) time = 0;
      playing = true; before = performance.now(); button.textContent = "pause"; ask();
    };
    const pause = () => { playing = false; button.textContent = "play"; };

    button.onclick = () => playing ? pause() : play();
    slider.oninput = () => { pause(); seek(Number(slider.value)); };
    chooser.onchange = () => { pause(); choose(Number(chooser.value)); };
    canvas.onkeydown = event => {
      if (event.key === " ") { event.preventDefault(); button.click(); }
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") { pause(); seek(Math.floor(time) + (event.key === "ArrowLeft" ? -1 : 1)); }
    };
    const scrub = event => {
      if (event.buttons !== 1) return;
      const at = charts.getBoundingClientRect();
      pause();
      seek(Math.round((event.clientX - at.left) / at.width * (steps - 1)));
    };
    charts.onpointerdown = event => { charts.setPointerCapture(event.pointerId); scrub(event); };
    charts.onpointermove = scrub;

    // orbit by dragging, distance by the wheel or two fingers
    const fingers = new Map();
    canvas.onpointerdown = event => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, event); };
    canvas.onpointerup = canvas.onpointercancel = event => fingers.delete(event.pointerId);
    canvas.onpointermove = event => {
      const was = fingers.get(event.pointerId);
      if (!was || !stage.works) return;
      const view = stage.view;
      if (fingers.size === 2) {
        const other = [...fingers.values()].find(f => f.pointerId !== event.pointerId);
        const apart = e => Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY) || 1;
        view.distance *= Math.min(Math.max(apart(was) / apart(event), 0.8), 1.25);
      } else {
        view.yaw -= 0.008 * (event.clientX - was.clientX);
        view.pitch = Math.max(-0.1, Math.min(1.5, view.pitch + 0.006 * (event.clientY - was.clientY)));
      }
      fingers.set(event.pointerId, event);
      ask();
    };
    canvas.addEventListener("wheel", event => {
      if (!stage.works || !(event.ctrlKey || document.activeElement === canvas)) return;
      event.preventDefault();
      stage.view.distance *= Math.exp(0.001 * event.deltaY);
      ask();
    }, {passive: false});
    canvas.ondblclick = () => { if (stage.works) { stage.frame(); ask(); } };
    new ResizeObserver(ask).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);

    choose(0);
    return {play, pause, seek, advance, draw, stage, get step() { return Math.floor(time); }};
  };
})();
