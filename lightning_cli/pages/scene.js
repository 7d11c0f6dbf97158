// A small scene in WebGL: meshes with one light, a camera that turns, rays for picking. Plain, no library.
"use strict";

const Scene = (() => {
  const VERTEX = `
    attribute vec3 position; attribute vec3 normal;
    uniform mat4 view; uniform vec3 offset; uniform float size;
    varying vec3 place; varying vec3 across;
    void main() {
      vec3 world = position * size + offset;
      place = world; across = normal;
      gl_Position = view * vec4(world, 1.0);
    }`;
  // both sides are lit; with `ruled` lines are drawn at heights that are multiples of one over it
  const FRAGMENT = `
    #extension GL_OES_standard_derivatives : enable
    precision highp float;
    varying vec3 place; varying vec3 across;
    uniform vec3 eye, front, back; uniform float glow, ruled;
    void main() {
      vec3 toEye = normalize(eye - place);
      vec3 n = normalize(across + 1e-9);
      bool facing = dot(n, toEye) > 0.0;
      if (!facing) n = -n;
      vec3 light = normalize(toEye + vec3(0.25, 0.9, 0.1));
      float diffuse = 0.35 + 0.65 * max(dot(n, light), 0.0);
      float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 40.0) * 0.35;
      vec3 colour = (facing ? front : back) * mix(diffuse, 1.0, glow) + shine * (1.0 - glow);
      if (ruled > 0.0) {
        float at = place.y * ruled;
        float near = abs(fract(at - 0.5) - 0.5) / max(fwidth(at), 1e-6);
        colour *= 0.72 + 0.28 * smoothstep(0.4, 1.4, near);
      }
      gl_FragColor = vec4(colour, 1.0);
    }`;

  const multiply = (a, b) => Array.from({ length: 16 }, (_, i) =>
    [0, 1, 2, 3].reduce((total, k) => total + a[(i % 4) + 4 * k] * b[4 * (i >> 2) + k], 0));
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const length = Math.hypot(...a) || 1; return a.map((x) => x / length); };

  // ---- meshes: { positions, normals, triangles }

  // point(i, j) and normal(i, j) for i <= rows, j <= columns
  function grid(rows, columns, point, normal) {
    const mesh = { positions: [], normals: [], triangles: [] };
    for (let i = 0; i <= rows; i++) for (let j = 0; j <= columns; j++) {
      mesh.positions.push(...point(i, j));
      mesh.normals.push(...normal(i, j));
      if (i < rows && j < columns) {
        const a = i * (columns + 1) + j, b = a + columns + 1;
        mesh.triangles.push(a, b, a + 1, a + 1, b, b + 1);
      }
    }
    return mesh;
  }

  const ball = (n = 16) => {
    const at = (i, j) => {
      const up = Math.PI * (i / n), around = 2 * Math.PI * (j / n);
      return [Math.sin(up) * Math.cos(around), Math.cos(up), Math.sin(up) * Math.sin(around)];
    };
    return grid(n, n, at, at);
  };

  // a tube between two points
  function tube(from, to, radius, n = 10) {
    const along = unit(minus(to, from));
    const side = unit(cross(along, Math.abs(along[1]) > 0.9 ? [1, 0, 0] : [0, 1, 0])), other = cross(along, side);
    const out = (j) => {
      const angle = 2 * Math.PI * (j / n);
      return [0, 1, 2].map((k) => side[k] * Math.cos(angle) + other[k] * Math.sin(angle));
    };
    return grid(1, n, (i, j) => out(j).map((x, k) => x * radius + (i ? to : from)[k]), (i, j) => out(j));
  }

  // ---- the scene on one canvas

  function onCanvas(canvas, { turn = 0.7, tilt = 0.35, distance = 9, half = 0.36, changed }) {
    const gl = canvas.getContext("webgl", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) return null;
    gl.getExtension("OES_standard_derivatives");
    gl.getExtension("OES_element_index_uint");
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.DEPTH_TEST);
    const places = {};
    for (const name of ["view", "offset", "size", "eye", "front", "back", "glow", "ruled"]) {
      places[name] = gl.getUniformLocation(program, name);
    }
    const camera = { turn, tilt, distance };

    function buffer(kind, values) {
      const made = gl.createBuffer();
      gl.bindBuffer(kind, made);
      gl.bufferData(kind, values, gl.STATIC_DRAW);
      return made;
    }

    function load(mesh) {
      return {
        positions: buffer(gl.ARRAY_BUFFER, new Float32Array(mesh.positions)),
        normals: buffer(gl.ARRAY_BUFFER, new Float32Array(mesh.normals)),
        triangles: buffer(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(mesh.triangles)),
        count: mesh.triangles.length,
      };
    }

    function free(loaded) {
      for (const name of ["positions", "normals", "triangles"]) gl.deleteBuffer(loaded[name]);
    }

    const eye = () => [
      Math.sin(camera.turn) * Math.cos(camera.tilt), Math.sin(camera.tilt), Math.cos(camera.turn) * Math.cos(camera.tilt),
    ].map((x) => x * camera.distance);

    function axes() {
      const towards = unit(eye()), right = unit(cross([0, 1, 0], towards));
      return { towards, right, up: cross(towards, right) };
    }

    function view() {
      const { towards, right, up } = axes(), near = 1, far = 40, at = eye();
      const look = [
        right[0], up[0], towards[0], 0, right[1], up[1], towards[1], 0, right[2], up[2], towards[2], 0,
        -dot(right, at), -dot(up, at), -dot(towards, at), 1,
      ];
      const lens = [1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, (near + far) / (near - far), -1,
        0, 0, (2 * near * far) / (near - far), 0];
      return multiply(lens, look);
    }

    // parts: { loaded, front, back, offset, size, glow, ruled }
    function draw(parts) {
      const pixels = Math.round(canvas.clientWidth * Math.min(devicePixelRatio || 1, 2));
      if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.uniformMatrix4fv(places.view, false, view());
      gl.uniform3fv(places.eye, eye());
      for (const { loaded, front, back = front, offset = [0, 0, 0], size = 1, glow = 0, ruled = 0 } of parts) {
        for (const [name, data] of [["position", loaded.positions], ["normal", loaded.normals]]) {
          const place = gl.getAttribLocation(program, name);
          gl.bindBuffer(gl.ARRAY_BUFFER, data);
          gl.enableVertexAttribArray(place);
          gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
        }
        gl.uniform3fv(places.front, front);
        gl.uniform3fv(places.back, back);
        gl.uniform3fv(places.offset, offset);
        gl.uniform1f(places.size, size);
        gl.uniform1f(places.glow, glow);
        gl.uniform1f(places.ruled, ruled);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, loaded.triangles);
        gl.drawElements(gl.TRIANGLES, loaded.count, gl.UNSIGNED_INT, 0);
      }
    }

    // where a point is on the canvas, from -1 to 1
    function project(point) {
      const { towards, right, up } = axes(), from = minus(point, eye()), depth = -dot(from, towards) * half;
      return [dot(from, right) / depth, dot(from, up) / depth];
    }

    // the ray through a place on the canvas
    function ray(x, y) {
      const { towards, right, up } = axes();
      return { from: eye(), along: unit([0, 1, 2].map((k) => (x * right[k] + y * up[k]) * half - towards[k])) };
    }

    function turnBy(dx, dy) {
      camera.turn -= dx;
      camera.tilt = Math.max(-1.5, Math.min(1.5, camera.tilt + dy));
      changed();
    }

    function zoomBy(factor) {
      camera.distance = Math.max(5, Math.min(16, camera.distance * factor));
      changed();
    }

    return { load, free, draw, project, ray, turnBy, zoomBy, camera, lost: () => gl.isContextLost() };
  }

  return { onCanvas, grid, ball, tube, dot, minus, unit };
})();
