/* What stands around attention in a layer: chapters 02, 03, 08 and 09.

   A matrix is {data, rows, cols}: a Float32Array, row after row. Names are
   those of transformer_course/models. */

"use strict";

course.part(function layers() {
  const matrix = (rows, cols, data = new Float32Array(rows * cols)) => ({
    data,
    rows,
    cols,
  });

  const row = (x, i) => x.data.subarray(i * x.cols, (i + 1) * x.cols);

  function dot(a, b, atA = 0, atB = 0, length = a.length) {
    let sum = 0;
    for (let i = 0; i < length; i++) sum += a[atA + i] * b[atB + i];
    return sum;
  }

  /* x Wᵀ + b; W has a row for each output, as nn.Linear has. Four outputs at
     a time: so each number of x is read once for four products. */
  function linear(x, weight, bias) {
    const { cols } = x;
    const out = matrix(x.rows, weight.rows);
    const [from, w] = [x.data, weight.data];
    for (let i = 0; i < x.rows; i++) {
      let o = 0;
      for (; o + 4 <= weight.rows; o += 4) {
        let [a, b, c, d] = [0, 0, 0, 0];
        let at = o * cols;
        for (let j = i * cols; j < (i + 1) * cols; j++, at++) {
          const value = from[j];
          a += value * w[at];
          b += value * w[at + cols];
          c += value * w[at + 2 * cols];
          d += value * w[at + 3 * cols];
        }
        const to = i * out.cols + o;
        out.data[to] = a;
        out.data[to + 1] = b;
        out.data[to + 2] = c;
        out.data[to + 3] = d;
      }
      for (; o < weight.rows; o++)
        out.data[i * out.cols + o] = dot(from, w, i * cols, o * cols, cols);
    }
    if (!bias) return out;
    for (let at = 0; at < out.data.length; at++)
      out.data[at] += bias.data[at % out.cols];
    return out;
  }

  function add(x, y) {
    const out = matrix(x.rows, x.cols);
    for (let i = 0; i < out.data.length; i++)
      out.data[i] = x.data[i] + y.data[i];
    return out;
  }

  /* Mean 0 and variance 1 in each row, then scaled and shifted (chapter 08). */
  function layerNorm(x, weight, bias, epsilon = 1e-5) {
    const out = matrix(x.rows, x.cols);
    for (let i = 0; i < x.rows; i++) {
      const values = row(x, i);
      let mean = 0;
      for (const value of values) mean += value / x.cols;
      let variance = 0;
      for (const value of values) variance += (value - mean) ** 2 / x.cols;
      const scale = 1 / Math.sqrt(variance + epsilon);
      for (let j = 0; j < x.cols; j++)
        out.data[i * x.cols + j] =
          (values[j] - mean) * scale * weight.data[j] + bias.data[j];
    }
    return out;
  }

  const activations = {
    relu: (x) => Math.max(0, x),
    gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  };

  /* Abramowitz and Stegun, 7.1.26; off by 1.5e-7 at most. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const series =
      ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t -
        0.284496736) * t + 0.254829592) * t;
    return Math.sign(x) * (1 - series * Math.exp(-x * x));
  }

  /* max(0, x W₁ + b₁) W₂ + b₂ (chapter 09); onUnits is called with what
     stands between the two. */
  function feedForward(x, weights, activation, onUnits) {
    const inner = linear(x, weights("up_proj.weight"), weights("up_proj.bias"));
    inner.data.forEach((value, i) => {
      inner.data[i] = activations[activation](value);
    });
    onUnits?.(inner);
    return linear(inner, weights("down_proj.weight"), weights("down_proj.bias"));
  }

  /* The vectors of ids, times √d_model (chapter 02). */
  function embed(ids, weight) {
    const out = matrix(ids.length, weight.cols);
    const scale = Math.sqrt(weight.cols);
    ids.forEach((id, i) => {
      row(weight, id).forEach((value, j) => {
        out.data[i * out.cols + j] = value * scale;
      });
    });
    return out;
  }

  /* Position p turns pair i by p / 10000^(2i / width) (chapter 03). */
  const angle = (position, pair, width) =>
    position * Math.exp((-Math.log(10000) * 2 * pair) / width);

  /* x plus the sinusoidal encoding of positions offset, offset + 1, … */
  function addSinusoidal(x, offset = 0) {
    const out = matrix(x.rows, x.cols, x.data.slice());
    for (let i = 0; i < x.rows; i++) {
      for (let pair = 0; pair < x.cols / 2; pair++) {
        const a = angle(offset + i, pair, x.cols);
        out.data[i * x.cols + 2 * pair] += Math.sin(a);
        out.data[i * x.cols + 2 * pair + 1] += Math.cos(a);
      }
    }
    return out;
  }

  /* Each head's pairs of numbers turned by their position, in place. */
  function turn(x, nHeads, offset = 0) {
    const width = x.cols / nHeads;
    for (let i = 0; i < x.rows; i++) {
      for (let pair = 0; pair < width / 2; pair++) {
        const a = angle(offset + i, pair, width);
        const cos = Math.cos(a);
        const sin = Math.sin(a);
        for (let head = 0; head < nHeads; head++) {
          const at = i * x.cols + head * width + 2 * pair;
          const [even, odd] = [x.data[at], x.data[at + 1]];
          x.data[at] = even * cos - odd * sin;
          x.data[at + 1] = even * sin + odd * cos;
        }
      }
    }
    return x;
  }

  return {
    matrix, row, dot, linear, add, layerNorm, feedForward, embed,
    addSinusoidal, turn,
  };
});
