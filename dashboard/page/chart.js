// Charts over time. Each has a key with the newest values as text.

const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const dark = matchMedia('(prefers-color-scheme: dark)');

// chart makes a chart. Its series are {column, label, color, dashed, fill}.
function chart(title, scope, unit, write, series) {
  const figure = element('figure');
  const caption = figure.appendChild(element('figcaption'));
  caption.appendChild(element('h2', '', title));
  caption.appendChild(element('span', 'scope', scope));
  const key = figure.appendChild(element('p', 'key'));
  const plot = figure.appendChild(element('div', 'plot'));
  plot.setAttribute('role', 'img');
  const empty = figure.appendChild(element('p', 'empty', 'Collecting the first seconds…'));
  document.getElementById('charts').append(figure);
  for (const s of series) {
    s.item = key.appendChild(element('span'));
    const line = s.item.appendChild(element('i', s.dashed ? 'dashed' : ''));
    line.style.borderTopColor = 'var(--' + s.color + ')';
    s.item.appendChild(document.createTextNode(s.label + ' '));
    s.value = s.item.appendChild(element('b'));
  }

  let u, shown = '', data;
  const size = () => ({ width: Math.max(plot.clientWidth, 100), height: 170 });
  function make() {
    if (u) u.destroy();
    u = null;
    if (!data) return;
    const axis = { stroke: color('soft'), grid: { stroke: color('grid'), width: 1 }, ticks: { show: false }, font: '11px system-ui, "DejaVu Sans", sans-serif' };
    u = new uPlot({
      ...size(),
      padding: [8, 6, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, space: 70, size: 28, gap: 8, values: (_, at) => at.map(t => clock(t * 1000).slice(0, at.length > 1 && at[1] - at[0] < 60 ? 8 : 5)) },
        { ...axis, space: 32, size: 56, values: (_, at) => at.map(v => write(v)) },
      ],
      series: [{}, ...series.filter(s => data[s.column]).map(s => ({
        stroke: color(s.color), width: 1.75, dash: s.dashed ? [5, 4] : undefined,
        fill: s.fill ? color(s.color) + '22' : undefined, points: { show: false }, spanGaps: false,
      }))],
    }, rows(), plot);
  }
  const rows = () => [data.time, ...series.filter(s => data[s.column]).map(s => data[s.column])];

  dark.addEventListener('change', make);
  new ResizeObserver(() => { if (u) u.setSize(size()); }).observe(plot);

  // update shows the columns. Without any the chart is hidden.
  return function update(columns) {
    const have = series.filter(s => columns[s.column]);
    const none = have.length === 0 || columns.time.length < 2;
    figure.hidden = have.length === 0;
    empty.hidden = !none;
    plot.hidden = none;
    for (const s of series) {
      const column = columns[s.column];
      s.item.hidden = !column;
      if (column) setText(s.value, write(column.at(-1)) + (column.at(-1) == null ? '' : unit));
    }
    data = none ? null : columns;
    const names = none ? '' : have.map(s => s.column).join();
    if (names !== shown) { shown = names; make(); } else if (u) u.setData(rows());
    if (!none) plot.setAttribute('aria-label', title + ', the last ' + duration((columns.time.at(-1) - columns.time[0]) * 1000) + ': ' + have.map(s =>
      s.label + ' now ' + write(columns[s.column].at(-1)) + unit + ', at most ' + write(columns[s.column].reduce((a, b) => Math.max(a, b || 0), 0)) + unit).join('; '));
  };
}
