import { createHash } from 'node:crypto';

/** The one stylesheet: system fonts, nothing from elsewhere, dark and light as the browser asks. */
export const STYLE = `:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;
--raised:#f6f8fa;--link:#0a5bb5;--focus:#0a5bb5;--bad:#a40e26;--good:#116329;--button:#0a5bb5;--on-button:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--soft:#9da7b3;--line:#3d444d;--raised:#161b22;
--link:#6cb6ff;--focus:#6cb6ff;--bad:#ff8a95;--good:#6fdd8b;--button:#6cb6ff;--on-button:#0d1117}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.25rem .75rem;z-index:1}
header{border-bottom:1px solid var(--line);background:var(--raised)}
header>div,main{max-width:72rem;margin:0 auto;padding:.75rem 1.25rem}
header>div{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;align-items:center}
.brand{font-weight:700;color:var(--ink);text-decoration:none}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0;padding:0;list-style:none}
.who{margin-left:auto;display:flex;gap:1rem;align-items:center}
a[aria-current]{font-weight:600;text-decoration-thickness:2px}
main{padding-top:1.5rem;padding-bottom:3rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2rem 0 .75rem}
h3{font-size:1rem;margin:1.25rem 0 .5rem}
p{max-width:46rem}
.soft{color:var(--soft)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;width:100%}
td code,td time,th code,.number{white-space:nowrap;overflow-wrap:normal}
caption{text-align:left;color:var(--soft);padding:.25rem 0}
th,td{text-align:left;vertical-align:top;padding:.5rem .75rem;border-bottom:1px solid var(--line)}
th{font-weight:600}
thead th{background:var(--raised)}
.number{text-align:right;font-variant-numeric:tabular-nums}
code,pre{font:0.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
pre{background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;overflow:auto;
max-height:28rem;margin:.5rem 0}
.label{border:1px solid var(--line);border-radius:1em;padding:0 .6em;font-size:.85em;white-space:nowrap}
h1 .label{font-size:.55em;font-weight:400;vertical-align:middle}
form.stack{max-width:26rem;display:grid;gap:1rem}
form.stack.wide{max-width:40rem}
form.line{display:inline}
.line-up{display:flex;gap:1rem;align-items:center;margin-bottom:1rem}
.line-up img{border-radius:8px;object-fit:cover}
.line-up p{margin:.5rem 0}
.avatar{border-radius:4px;object-fit:cover;vertical-align:middle}
.choice{display:flex;gap:1rem}
fieldset ul{margin:.25rem 0 .75rem;padding-left:1.25rem}
label,legend{font-weight:600}
fieldset{border:1px solid var(--line);border-radius:6px;padding:.75rem 1rem;margin:0;min-width:0}
fieldset div{display:flex;gap:.5rem;align-items:baseline}
fieldset label{font-weight:400}
.field{display:grid;gap:.25rem}
input:not([type=checkbox]),select{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);
border-radius:6px;padding:.45rem .6rem;width:100%}
button{font:inherit;font-weight:600;color:var(--on-button);background:var(--button);border:1px solid var(--button);
border-radius:6px;padding:.45rem 1rem;cursor:pointer;justify-self:start}
button.quiet{color:var(--link);background:transparent;border-color:var(--line);font-weight:400}
.note{border:1px solid var(--line);border-left:4px solid var(--good);border-radius:6px;padding:.75rem 1rem;
margin:0 0 1.5rem}
.note.bad{border-left-color:var(--bad)}
.note p{margin:.25rem 0}
details summary{cursor:pointer}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.25rem;margin:0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.prose{max-width:46rem;overflow-wrap:anywhere}
blockquote{margin:1rem 0;padding-left:1rem;border-left:4px solid var(--line);color:var(--soft)}
@media (max-width:40rem){dl{grid-template-columns:1fr}dd{margin-bottom:.5rem}.who{margin-left:0}}
`;

/** It changes with the stylesheet, so that browsers may keep it. */
export const STYLE_PATH = `/assets/hub-${createHash('sha256').update(STYLE).digest('hex').slice(0, 16)}.css`;
