// Numbers of curves: smoothing, the band over seeds, and the columns uPlot draws.

// smoothed is the exponential moving average, corrected for its start, as TensorBoard draws it. weight is 0 (none) to just below 1.
export function smoothed(values, weight) {
  if (!weight || values.length < 20) return values; // evaluations are few: an average would hide them
  let last = 0, n = 0;
  return values.map((v) => {
    if (v === null || v === undefined) return null;
    last = last * weight + (1 - weight) * v;
    n++;
    return last / (1 - weight ** n);
  });
}

// elapsed are times since the first that is known; null where none is.
export function elapsed(times) {
  const begin = times.find((t) => t !== null && t !== undefined);
  return times.map((t) => (t === null || t === undefined ? null : t - begin));
}

// band joins runs that differ in their seed: mean, lowest and highest value of every step that any of them has.
export function band(series) {
  const at = new Map();
  for (const s of series) {
    const times = elapsed(s.time ?? []);
    s.step.forEach((step, i) => {
      if (s.value[i] === null) return;
      const all = at.get(step) ?? { step, values: [], times: [] };
      all.values.push(s.value[i]);
      if (times[i] !== null && times[i] !== undefined) all.times.push(times[i]);
      at.set(step, all);
    });
  }
  const all = [...at.values()].sort((a, b) => a.step - b.step), mean = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;
  return {
    step: all.map((a) => a.step), time: all.map((a) => a.times.length ? mean(a.times) : null), value: all.map((a) => mean(a.values)),
    min: all.map((a) => Math.min(...a.values)), max: all.map((a) => Math.max(...a.values)), seeds: series.length,
  };
}

// columns lays series out for uPlot: one x for all, and per series a faint raw line where it is smoothed, bounds where it has a band, and the line.
export function columns(series, options, smooth) {
  const lines = [], bands = [], parts = [];
  const positive = (values) => options.log ? values.map((v) => (v > 0 ? v : null)) : values;
  for (const s of series) {
    const useTime = options.axis === "time" && s.time?.some((t) => t !== null);
    const x = useTime ? elapsed(s.time) : s.step;
    const colour = s.colour ?? 0, points = s.value.length < 2 || (s.value.length < 40 && !options.smooth);
    if (s.min && s.min.some((v, i) => v !== s.value[i] || s.max[i] !== s.value[i])) {
      parts.push([x, positive(s.max)], [x, positive(s.min)]);
      bands.push({ high: lines.length + 1, low: lines.length + 2, colour });
      lines.push({ colour, bound: true }, { colour, bound: true });
    }
    if (options.smooth && s.value.length >= 20) {
      parts.push([x, positive(s.value)]);
      lines.push({ colour, faint: true });
    }
    parts.push([x, positive(smooth(s.value, options.smooth))]);
    lines.push({ colour, points });
  }
  return { data: align(parts), lines, bands };
}

// align gives all parts one sorted x; a part has null where it has no value.
export function align(parts) {
  const x = [...new Set(parts.flatMap(([xs]) => xs))].filter((v) => v !== null).sort((a, b) => a - b);
  const place = new Map(x.map((v, i) => [v, i]));
  const ys = parts.map(([xs, values]) => {
    const y = new Array(x.length).fill(null);
    xs.forEach((v, i) => { if (v !== null) y[place.get(v)] = values[i]; });
    return y;
  });
  return [x, ...ys];
}
