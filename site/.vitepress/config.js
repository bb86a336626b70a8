// The site of the documentation: the repository's pages as they are, in the order of
// llms.txt.
import fs from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { links } from './links.js'

const root = path.resolve(import.meta.dirname, '../..')
const repository = 'https://github.com/goweir/weir'

// The sections of llms.txt, each with its links: [text](path): description
const index = fs.readFileSync(path.join(root, 'llms.txt'), 'utf8')
const sections = index.split(/^## /m).slice(1).map((section) => ({
  text: section.split('\n', 1)[0].replace('Optional', 'Project'),
  pages: [...section.matchAll(/^- \[(.+?)\]\((.+?)\): (.+)$/gm)].map(([, text, file, description]) => ({ text, file, description })),
}))
const pages = sections.flatMap((s) => s.pages)
if (pages.length < 20) throw new Error(`llms.txt: want pages as "- [text](path): description", got ${pages.length}`)

// The page of a file on the site: docs/x.md is x, X.md is project/x.
const rewrites = Object.fromEntries(pages.map(({ file }) => {
  const page = file.includes('/') || file === 'README.md' ? file.replace(/^docs\//, '') : `project/${file.toLowerCase()}`
  return [file, page.replace('README.md', 'index.md')]
}))
const url = (file) => rewrites[file] && '/' + rewrites[file].replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')

// Pages lie outside this folder, and import modules of this folder.
const modules = {
  name: 'modules-for-pages',
  enforce: 'pre',
  resolveId(id, from, options) {
    return /^vue\b/.test(id) && from?.endsWith('.md') ? this.resolve(id, import.meta.filename, { ...options, skipSelf: true }) : null
  },
}

export default defineConfig({
  title: 'weir',
  description: 'Limits the rate of HTTP traffic in both directions over one shared store. A Go library.',
  base: '/weir/',
  srcDir: root,
  srcExclude: ['!(docs)/**/*', ...fs.readdirSync(root).filter((f) => f.endsWith('.md') && !rewrites[f])],
  rewrites,
  cleanUrls: true,
  vite: { plugins: [modules] },
  markdown: {
    anchor: { slugify: (heading) => heading.toLowerCase().replaceAll(' ', '-').replace(/[^a-z0-9_-]/g, '') }, // as GitHub's
    config: (md) => md.use(links, { root, url, repository }),
  },
  transformPageData: (page) => ({ description: pages.find((p) => p.file === page.filePath)?.description }),
  themeConfig: {
    sidebar: sections.map((s) => ({ text: s.text, items: s.pages.map((p) => ({ text: p.text.replace('README', 'Overview'), link: url(p.file) })) })),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' },
    nav: [{ text: 'Reference', link: 'https://pkg.go.dev/github.com/goweir/weir' }],
  },
})
