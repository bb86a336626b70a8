// Checks each link of the built site to the site itself: its page, file and anchor. The
// generator checks pages only.
import fs from 'node:fs'
import path from 'node:path'

const dist = path.join(import.meta.dirname, '.vitepress/dist')
const base = '/weir/'

const pages = new Map() // by path: the text
for (const file of fs.readdirSync(dist, { recursive: true })) {
  if (file.endsWith('.html')) pages.set(file, fs.readFileSync(path.join(dist, file), 'utf8'))
}

let links = 0
const dead = []
for (const [file, text] of pages) {
  for (const [, href] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
    if (/^\w+:/.test(href)) continue
    links++
    const [target, anchor] = href.split('#')
    const found = target === '' ? file : find(target)
    const has = found && (!anchor || pages.get(found)?.includes(` id="${decodeURIComponent(anchor)}"`))
    if (!has) dead.push(`${file}: ${href}`)
  }
}
if (pages.size < 20 || links < 1000) dead.push(`only ${links} links on ${pages.size} pages were found`)
console.log(`${pages.size} pages, ${links} links, ${dead.length} dead`)
if (dead.length > 0) {
  console.error(dead.join('\n'))
  process.exit(1)
}

function find(target) {
  if (!target.startsWith(base)) return undefined
  const file = target.slice(base.length)
  return [file, file + '.html', path.join(file, 'index.html')].find((f) => fs.statSync(path.join(dist, f), { throwIfNoEntry: false })?.isFile())
}
