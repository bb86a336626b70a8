// Panels with a table each. Rows keep their elements from frame to frame, so that focus,
// selection and scrolling stay. Texts come from outside: they are text, never HTML.

const element = (name, className, text) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text != null) e.textContent = text;
  return e;
};

const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };
const setClass = (e, name) => { if (e.className !== name) e.className = name; };

// sentences fills an element with text; parts between backquotes are code.
function sentences(e, text) {
  if (e.dataset.text === text) return;
  e.dataset.text = text;
  e.replaceChildren(...text.split('`').map((part, i) => i % 2 ? element('code', '', part) : document.createTextNode(part)));
}

// panel makes a panel. Its columns are {head, num, name, minor, kind, cell}: cell(td, row) fills
// a cell, or returns its text.
function panel(id, title, scope, columns, wide) {
  const root = element('section', wide ? 'panel wide' : 'panel');
  root.id = id;
  root.setAttribute('aria-labelledby', id + '-title');
  const head = root.appendChild(element('header'));
  head.appendChild(element('h2', '', title)).id = id + '-title';
  head.appendChild(element('span', 'scope', scope));
  const empty = root.appendChild(element('p', 'empty'));
  const scroll = root.appendChild(element('div', 'scroll'));
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-labelledby', id + '-title');
  const table = scroll.appendChild(element('table'));
  table.setAttribute('aria-labelledby', id + '-title');
  const className = c => [c.num && 'num', c.name && 'name', c.minor && 'minor', c.kind].filter(Boolean).join(' ');
  const heads = table.appendChild(element('thead')).appendChild(element('tr'));
  for (const c of columns) {
    c.th = heads.appendChild(element('th', className({ num: c.num, minor: c.minor, kind: c.kind }), c.head));
    c.th.scope = 'col';
  }
  const body = table.appendChild(element('tbody'));
  const more = root.appendChild(element('p', 'more'));
  document.getElementById('panels').append(root);
  const known = new Map();

  // update shows rows, each with an id; without rows the text that says why.
  // Without the text the panel is hidden.
  return function update(rows, why, rest) {
    root.hidden = !why;
    if (!why) return;
    sentences(empty, rows.length ? '' : why);
    setText(more, rest || '');
    empty.hidden = rows.length > 0;
    scroll.hidden = rows.length === 0;
    more.hidden = !rest;
    for (const c of columns) if (c.shown) c.th.hidden = !c.shown();
    const seen = new Set();
    let next = body.firstElementChild;
    for (const row of rows) {
      seen.add(row.id);
      let tr = known.get(row.id);
      if (!tr) {
        tr = element('tr');
        for (const c of columns) tr.appendChild(element('td', className(c)));
        known.set(row.id, tr);
      }
      tr.row = row;
      columns.forEach((c, i) => {
        const td = tr.children[i];
        if (c.shown && (td.hidden = !c.shown())) return;
        const text = c.cell(td, row);
        if (text !== undefined) setText(td, text);
      });
      if (tr === next) next = tr.nextElementSibling;
      else move(body, tr, next);
    }
    for (const [id, tr] of known) {
      if (!seen.has(id)) { tr.remove(); known.delete(id); }
    }
  };
}

// move puts a row before another, and keeps the focus where it is.
function move(body, tr, next) {
  const focused = tr.contains(document.activeElement) ? document.activeElement : null;
  body.insertBefore(tr, next);
  if (focused) focused.focus({ preventScroll: true });
}

// bar fills a cell with a share of a whole.
function bar(td, share, text) {
  let b = td.firstElementChild;
  if (!b) {
    b = td.appendChild(element('div', 'bar'));
    const rail = b.appendChild(element('span'));
    rail.setAttribute('aria-hidden', 'true');
    rail.appendChild(element('span'));
    b.appendChild(element('span'));
  }
  setClass(b, share >= .995 ? 'bar full' : 'bar');
  b.firstElementChild.firstElementChild.style.width = Math.min(100, Math.max(0, share * 100)).toFixed(1) + '%';
  setText(b.lastElementChild, text);
}
