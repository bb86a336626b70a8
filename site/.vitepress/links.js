// Links of pages written for GitHub, for a site that has some of its files.
import fs from 'node:fs'
import path from 'node:path'

// links is a markdown-it plugin. Links to pages of the site lead there. Links to other
// files of the repository lead to GitHub. A link to no file is an error.
//
// Indented code becomes a fence: the theme styles fences only.
export function links(md, { root, url, repository }) {
  md.core.ruler.push('repository-links', (state) => {
    const page = state.env.realPath ?? state.env.path
    for (const token of state.tokens.flatMap((t) => [t, ...(t.children ?? [])])) {
      if (token.type === 'link_open') {
        token.attrSet('href', resolve(token.attrGet('href'), page))
      } else if (token.type === 'code_block') {
        token.type = 'fence'
      } else if (token.type.startsWith('html_')) {
        // The bundler takes a path for a file of the repository if it begins with a dot.
        token.content = token.content.replace(/\b(src|srcset)="(?=\w[^":]*")/g, '$1="./')
      }
    }
  })

  function resolve(href, page) {
    const [target, anchor] = href.split('#')
    if (target === '' || /^\w+:/.test(target)) return href
    const file = path.relative(root, path.resolve(path.dirname(page), decodeURI(target)))
    const suffix = anchor === undefined ? '' : '#' + anchor
    const to = url(file)
    if (to !== undefined) return to + suffix
    const found = fs.statSync(path.join(root, file), { throwIfNoEntry: false })
    if (!found) throw new Error(`${path.relative(root, page)}: link ${href}: there is no ${file}`)
    return `${repository}/${found.isDirectory() ? 'tree' : 'blob'}/main/${file}${suffix}`
  }
}
