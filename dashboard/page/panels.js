// The page's tiles, charts and panels, and the sentences of those that are empty.

let frame = null;
const useHook = 'Mounted in your own process, with its `Observe` as `Hook` in `weir.Config`, the dashboard also shows decisions, upstream budgets and events. This process has had no event so far.';
const useRedis = 'Set `dashboard.Config.Client` to see paused keys, busy keys and waiting calls of all processes, from Redis.';

const limiterColumn = { head: 'Limiter', kind: 'limiter', cell: (_, r) => r.limiter };
const keyColumn = { head: 'Key', name: true, cell: (_, r) => r.key };

// changes makes a column with buttons: what(row) lists the changes that suit a row.
const changes = what => ({
  head: 'Change', shown: () => frame.changes, cell: (td, row) => {
    const list = what(row).join();
    if (td.dataset.list === list) return;
    td.dataset.list = list;
    td.replaceChildren(...(list ? list.split(',') : []).map(action => {
      const b = element('button', '', action[0].toUpperCase() + action.slice(1));
      b.type = 'button';
      b.setAttribute('aria-label', action + ' ' + row.limiter + ' ' + row.key);
      b.addEventListener('click', () => ask(action, td.parentElement.row));
      return b;
    }));
  },
});

const calls = n => n < 0 ? 'some' : count(n);

const charts = {
  decisions: chart('Decisions', 'this process', '/s', rate, [
    { column: 'admitted', label: 'admitted', color: 'admitted', fill: true },
    { column: 'refused', label: 'refused', color: 'refused', dashed: true },
  ]),
  waiting: chart('Calls that wait', 'now', '', count, [
    { column: 'fleet_waiting', label: 'all processes', color: 'waiting', fill: true },
    { column: 'waiting', label: 'this process', color: 'admitted', dashed: true },
  ]),
  latency: chart('Time of store calls', 'of each second', '', duration, [
    { column: 'store_p50_ms', label: 'median', color: 'admitted' },
    { column: 'store_p99_ms', label: 'p99', color: 'refused', dashed: true },
    { column: 'redis_ms', label: 'ping', color: 'redis' },
  ]),
};

const panels = {
  slowed: panel('slowed', 'Paused and slowed keys', 'all processes', [
    limiterColumn, keyColumn,
    { head: 'State', kind: 'state', cell: (td, r) => {
      setClass(td, r.pause_ms ? 'state bad' : 'state warn');
      return r.pause_ms ? '❚❚ paused' : '▼ ' + percent(r.rate / 64) + ' rate';
    } },
    { head: 'Ends in', num: true, cell: (_, r) => duration(r.pause_ms || r.whole_in_ms) },
    { head: 'Reason', minor: true, shown: () => !!frame.process, cell: (_, r) => r.reason || '–' },
    changes(() => ['resume']),
  ]),
  waiting: panel('waiting', 'Waiting calls', 'all processes', [
    limiterColumn, keyColumn,
    { head: 'Calls', num: true, cell: (_, r) => calls(r.calls) },
    { head: 'First leaves in', num: true, minor: true, cell: (_, r) => duration(r.first_ms) },
    { head: 'Last leaves in', num: true, cell: (_, r) => duration(r.last_ms) },
    { head: 'Here (oldest)', num: true, minor: true, shown: () => !!frame.process, cell: (_, r) => r.here ? count(r.here) + ' (' + duration(r.oldest_ms) + ')' : '–' },
    changes(r => frame.slowed.some(s => s.id === r.id && s.pause_ms) ? [] : ['pause']),
  ]),
  busy: panel('busy', 'Busiest keys', 'all processes', [
    limiterColumn, keyColumn,
    { head: 'Limit', minor: true, cell: (_, r) => r.limits.map(l => l.limit.replaceAll('_', ' ')).join(', ') },
    { head: 'Used', cell: (td, r) => {
      const l = fullest(r);
      bar(td, l ? l.used / l.max : 0, l ? percent(l.used / l.max) : '–');
      td.title = r.limits.map(l => l.limit + ': ' + count(l.used) + ' of ' + count(l.max) + ' used').join('\n');
    } },
    { head: 'Left', num: true, cell: (_, r) => fullest(r) ? count(fullest(r).remaining) : '–' },
    { head: 'Whole in', num: true, minor: true, cell: (_, r) => fullest(r) ? duration(fullest(r).reset_ms) : '–' },
    { head: 'In flight', num: true, kind: 'extra', shown: () => frame.busy.some(b => b.in_flight), cell: (_, r) => count(r.in_flight) },
    { head: 'Calls / min here', num: true, kind: 'extra', shown: () => !!frame.process, cell: (_, r) => r.calls ? '≈ ' + count(r.calls) : '–' },
    { head: 'Refused', num: true, kind: 'extra', shown: () => !!frame.process, cell: (_, r) => r.calls ? percent(r.refused / r.calls) : '–' },
    changes(r => ['pause', 'reset']),
  ], true),
  limiters: panel('limiters', 'Limiters', 'this process', [
    limiterColumn,
    { head: 'Admitted', num: true, cell: (_, r) => rate(r.admitted_per_s) + '/s' },
    { head: 'Refused', num: true, cell: (_, r) => rate(r.refused_per_s) + '/s' },
    { head: 'Reasons since start', minor: true, cell: (_, r) => Object.entries(r.refused).map(([why, n]) => why.replaceAll('_', ' ') + ' ' + count(n)).join(', ') || '–' },
    { head: 'Waiting', num: true, cell: (_, r) => count(r.waiting) },
    { head: 'Without Redis', num: true, minor: true, cell: (_, r) => count(r.degraded) },
    { head: 'Errors', num: true, minor: true, cell: (td, r) => { setClass(td, r.store_errors ? 'num minor bad' : 'num minor'); return count(r.store_errors); } },
  ]),
  upstream: panel('upstream', 'Upstream budgets', 'this process', [
    limiterColumn,
    { head: 'Budget', name: true, cell: (_, r) => r.budget || '–' },
    { head: 'Left', cell: (td, r) => {
      if (r.limit > 0 && r.remaining != null) bar(td, r.remaining / r.limit, count(r.remaining) + ' of ' + count(r.limit));
      else { td.replaceChildren(); return r.remaining == null ? 'not said' : count(r.remaining); }
    } },
    { head: 'Said', num: true, minor: true, cell: (_, r) => duration(r.age_ms) + ' ago' },
  ]),
  log: panel('log', 'Events', 'this process', [
    { head: 'Time', kind: 'fit', cell: (_, r) => clock(r.at_ms) },
    { head: 'Event', cell: (td, r) => {
      setClass(td, { warning: 'warn', fault: 'bad' }[r.level] || '');
      return ({ warning: '! ', fault: '▲ ' }[r.level] || '') + r.text;
    } },
  ], true),
};

const fullest = row => row.limits.reduce((a, b) => !a || b.used / b.max > a.used / a.max ? b : a, null);

// tile sets one figure at the top, or hides it. Its level is '', good, warn or bad.
const tiles = {};
function tile(name, value, note, level) {
  let t = tiles[name];
  if (!t) {
    const root = document.getElementById('tiles').appendChild(element('div'));
    t = tiles[name] = { root };
    root.appendChild(element('dt', '', name));
    t.value = root.appendChild(element('dd', 'value'));
    t.note = root.appendChild(element('dd', 'note'));
  }
  t.root.hidden = !value;
  setClass(t.root, level || '');
  setText(t.value, value || '');
  setText(t.note, note || '');
}

// render shows a frame, with the columns of its points and the rates of its limiters.
function render(f, columns) {
  frame = f;
  const p = f.process, r = f.redis;
  const sum = name => p.limiters.reduce((n, l) => n + l[name + '_per_s'], 0);
  const away = r && r.error, part = r && !away && r.missing;
  tile('Admitted', p && rate(sum('admitted')) + '/s', 'this process');
  tile('Refused', p && rate(sum('refused')) + '/s', p && sum('refused') ? percent(sum('refused') / (sum('admitted') + sum('refused'))) + ' of calls' : 'this process', p && sum('refused') ? 'warn' : '');
  const waiting = r ? r.waiting_calls : p ? p.waiting : null;
  tile('Waiting', waiting != null && count(waiting), r ? 'calls for ' + plural(r.waiting_keys, 'key') : 'calls, this process', waiting ? 'warn' : '');
  tile('Paused', r && count(r.paused_keys), r && (r.paused_keys === 1 ? 'key' : 'keys') + (r.slowed_keys ? ', and ' + count(r.slowed_keys) + ' slowed' : ''), r && r.paused_keys ? 'bad' : r && r.slowed_keys ? 'warn' : '');
  tile('Keys in use', r && count(r.keys) + (r.more ? '+' : ''), r && (r.in_flight ? plural(r.in_flight, 'call') + ' in flight' : 'in Redis'));
  tile('Redis', r && (away ? 'away' : r.latency_ms ? duration(r.latency_ms) : '–'), r && (away ? 'for ' + duration(r.away_for_ms) : part ? 'a server is away' : 'a round trip'), away || part ? 'bad' : 'good');
  const open = f.fallback.filter(s => s.state !== 'closed');
  tile('Fallback', f.fallback.length && (open.length ? open[0].state : 'closed'), open.length ? 'for ' + duration(open[0].for_ms) : 'Redis decides', open.length ? 'bad' : 'good');

  for (const name in charts) charts[name](columns);

  const read = text => r && (r.age_ms < 0 ? 'Redis has not answered yet.' : text);
  const rest = (all, shown) => all > shown ? 'and ' + plural(all - shown, 'more key') : '';
  const ids = (rows, id) => rows.map(row => ({ id: id(row), ...row }));
  panels.slowed(f.slowed, read('No key is paused or slowed.'), r && rest(r.paused_keys + r.slowed_keys, f.slowed.length));
  panels.waiting(f.waiting, read('No call waits.') || p && 'No call waits.', r && rest(r.waiting_keys, f.waiting.length));
  panels.busy(f.busy, read('No key is in use. Keys appear with their first call, and leave when all their units are free again.'), r && rest(r.keys, f.busy.length));
  panels.limiters(ids(p ? p.limiters : [], l => l.limiter), p && 'No limiter has decided yet.');
  panels.upstream(ids(f.upstream, u => u.limiter + ' ' + u.budget), p && 'No response has named a budget. Responses to a `weir.Transport` do in `RateLimit` and `X-RateLimit` fields.');
  panels.log(ids(f.log, l => l.at_ms + ' ' + l.text), p && 'Nothing unusual has happened since this process started.');
  sentences(document.getElementById('hints'), (p ? '' : useHook) + (r || p ? '' : ' ') + (r ? '' : useRedis));

  const alerts = [];
  if (away) alerts.push(['bad', 'Redis is away.', r.error + (r.age_ms < 0 ? '.' : '. The tables show the last reading.')]);
  if (part) alerts.push(['bad', 'A server of Redis is away.', 'The ' + part + '. The tables show the keys of the others.']);
  for (const s of open) alerts.push(['bad', 'Decisions without Redis.', 'The fallback ' + s.name + ' is open: this process decides by itself.']);
  if (r && r.unreadable) alerts.push(['', plural(r.unreadable, 'key') + ' can’t be read.', 'Their values are not weir’s: see weir doctor.']);
  if (r && r.more) alerts.push(['', 'There are more than ' + plural(r.keys, 'key') + '.', 'Config.MaxKeys bounds the keys that this page reads.']);
  const list = document.getElementById('alerts');
  const text = JSON.stringify(alerts);
  if (list.dataset.text !== text) {
    list.dataset.text = text;
    list.replaceChildren(...alerts.map(([level, head, tail]) => {
      const li = element('li', 'alert ' + level);
      li.append(element('strong', '', head), ' ' + tail);
      return li;
    }));
  }
  document.title = (away ? 'Redis away' : part ? 'A server away' : r && r.paused_keys ? plural(r.paused_keys, 'pause') : waiting ? count(waiting) + ' waiting' : 'all well') + ' – weir';
  setText(document.getElementById('about'), (p ? 'This process is ' + p.name + '. ' : '') +
    (f.keys === 'hashed' ? 'Keys are the first digits of their SHA-256. ' : '') +
    (r ? 'A reading of Redis took ' + duration(r.reading_ms) + '. ' : '') + 'Updated every ' + duration(f.interval_ms) + '.');
}
