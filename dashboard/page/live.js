// The connection to the server: frames come as server-sent events, changes go as POST.

const mostPoints = 900;
let columns = { time: [] };

// add appends the points of a frame. A column may be missing in either.
function add(points) {
  for (let i = 0; i < points.time.length; i++) {
    if (columns.time.length && points.time[i] <= columns.time.at(-1)) continue;
    for (const name of new Set([...Object.keys(columns), ...Object.keys(points)])) {
      columns[name] ||= columns.time.map(() => null);
    }
    for (const name in columns) if (name !== 'time') columns[name].push(points[name] ? points[name][i] : null);
    columns.time.push(points.time[i]);
  }
  const extra = columns.time.length - mostPoints;
  if (extra > 0) for (const name in columns) columns[name].splice(0, extra);
}

const status = document.getElementById('status');
const hold = document.getElementById('hold');
function say(text, level) {
  setText(status, text);
  setClass(status, level);
}

let held = false;
function receive(f, whole) {
  if (whole) columns = { time: [] };
  add(f.points);
  if (held) return;
  render(f, columns);
}

hold.addEventListener('click', () => {
  held = !held;
  hold.setAttribute('aria-pressed', held);
  setText(hold, held ? 'Frozen' : 'Freeze');
  say(held ? 'Frozen at ' + clock(frame ? frame.at_ms : Date.now()) + '. Press Frozen to go on.' : 'Live', held ? '' : 'live');
});

// connect opens the stream. A silent one is closed and opened anew.
let source, watchdog;
function connect() {
  disconnect();
  source = new EventSource('events');
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => { say('The server is silent. Trying again…', 'lost'); connect(); }, 25000);
    if (!held) say('Live', 'live');
  };
  source.addEventListener('whole', e => { heard(); receive(JSON.parse(e.data), true); });
  source.addEventListener('frame', e => { heard(); receive(JSON.parse(e.data), false); });
  source.addEventListener('beat', heard);
  source.onerror = () => {
    say('The server does not answer. Trying again…', 'lost');
    // A browser gives up after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED) watchdog = setTimeout(connect, 3000);
  };
}
function disconnect() {
  clearTimeout(watchdog);
  if (source) source.close();
}

const dialog = document.getElementById('ask');
const part = name => document.getElementById('ask-' + name);
let asked;
function ask(action, row) {
  asked = { action, id: row.id };
  setText(part('title'), { pause: 'Pause', resume: 'Resume', reset: 'Reset' }[action] + ' ' + row.limiter + ' ' + row.key + '?');
  setText(part('text'), {
    pause: 'No call for this key leaves until the pause ends, in any process. Waiting calls keep their order.',
    resume: 'Its pause and its lower rate end at once, in all processes. An upstream may refuse calls again.',
    reset: 'The key is then as if never used: it may use its whole limit at once.',
  }[action]);
  setText(part('yes'), { pause: 'Pause', resume: 'Resume', reset: 'Reset' }[action]);
  setText(part('error'), '');
  part('for').hidden = action !== 'pause';
  dialog.showModal();
}
part('no').addEventListener('click', () => dialog.close());
part('yes').addEventListener('click', async () => {
  const body = { ...asked };
  if (body.action === 'pause') body.seconds = Number(part('seconds').value);
  try {
    const answer = await fetch('change', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
    dialog.close();
  } catch (error) {
    setText(part('error'), error.message);
  }
});

const saved = document.getElementById('data');
if (saved) {
  const f = JSON.parse(saved.textContent);
  document.querySelector('.tools').hidden = true;
  f.changes = false;
  say('Saved at ' + new Date(f.at_ms).toLocaleString('sv-SE'), '');
  receive(f, true);
} else {
  connect();
  document.addEventListener('visibilitychange', () => document.hidden ? disconnect() : connect());
}
