// Colours for code: one small lexer per family of languages. It never fails: what it does not know stays plain.

import { escape } from "./escape";

interface Language {
  comment?: RegExp;
  string: RegExp;
  words: Set<string>;
  /** Words in any case, as in SQL. */
  anyCase?: boolean;
  /** What comes before the rest: `[pattern, class]`. */
  more?: [RegExp, string][];
}

const words = (text: string): Set<string> => new Set(text.split(" "));
const QUOTED = /"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?/y;
const SLASHES = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const HASH = /#[^\n]*/y;
const C_WORDS =
  "if else for while do switch case default break continue return goto sizeof typedef struct union enum static const volatile extern inline void int long short char float double signed unsigned bool auto class public private protected virtual override final abstract interface extends implements new delete this super throw throws try catch finally import package namespace using template typename operator friend true false null nullptr NULL var let val fun func fn def impl trait pub mod use crate mut match loop in where as dyn async await move ref self Self type go chan defer select range map make nil string byte error i8 i16 i32 i64 u8 u16 u32 u64 usize isize f32 f64 str Some None Ok Err instanceof synchronized boolean object foreach yield get set init guard when is out record sealed data companion suspend lateinit by internal open";

const PYTHON: Language = {
  comment: HASH,
  string: /[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?)/y,
  words: words(
    "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match case nonlocal not or pass raise return try while with yield self",
  ),
  more: [[/@[\w.]+/y, "f"]],
};
const SCRIPT: Language = {
  comment: SLASHES,
  string: /`(?:\\[\s\S]|[^`\\])*`?|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?/y,
  words: words(
    "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while yield",
  ),
};
const C: Language = { comment: SLASHES, string: QUOTED, words: words(C_WORDS), more: [[/#\s*(?:include|define|if|ifdef|ifndef|endif|else|pragma|undef|derive)\b[^\n]*/y, "f"]] };
const SHELL: Language = {
  comment: HASH,
  string: /"(?:\\[\s\S]|[^"\\])*"?|'[^']*'?/y,
  words: words("if then else elif fi for while until do done case esac in function return exit export local readonly set unset source echo cd sudo select time"),
  more: [[/\$(?:\w+|\{[^}\n]*\}?|[?#@*!$-])/y, "a"], [/(?<=\s)--?[A-Za-z][\w-]*/y, "a"]],
};
const SQL: Language = {
  comment: /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y,
  string: /'(?:''|[^'])*'?|"(?:""|[^"\n])*"?/y,
  words: words(
    "select from where and or not in is null as join left right inner outer full cross on group by order having limit offset insert into values update set delete create table view index drop alter add column primary key foreign references unique default check constraint union all distinct case when then else end exists between like ilike with recursive returning begin commit rollback grant revoke int integer text varchar char boolean date timestamp numeric real over partition using asc desc count sum avg min max coalesce true false",
  ),
  anyCase: true,
};
const JSON_LIKE: Language = { comment: SLASHES, string: QUOTED, words: words("true false null"), more: [[/"(?:\\[\s\S]|[^"\\\n])*"(?=\s*:)/y, "a"]] };
const YAML: Language = { comment: HASH, string: QUOTED, words: words("true false null yes no on off True False"), more: [[/(?<=^|\n)[ \t]*(?:- )*[\w.$/-]+(?=\s*[:=](?:\s|$))/y, "a"], [/(?<=^|\n)\s*\[[^\]\n]*\]/y, "k"], [/[&*][A-Za-z]\w*/y, "f"]] };
const MARKUP: Language = { comment: /<!--[\s\S]*?(?:-->|$)/y, string: QUOTED, words: words(""), more: [[/<\/?[A-Za-z][\w:.-]*|\/?>/y, "k"], [/(?<=\s)[\w:@.-]+(?==)/y, "a"], [/&#?\w+;/y, "n"]] };
const STYLE: Language = { comment: SLASHES, string: QUOTED, words: words("important from to"), more: [[/@[\w-]+/y, "k"], [/--[\w-]+/y, "a"], [/[\w-]+(?=\s*:\s)/y, "a"], [/#[0-9a-fA-F]{3,8}\b/y, "n"], [/[.#][A-Za-z][\w-]*/y, "f"]] };
const RUBY: Language = { comment: HASH, string: QUOTED, words: words("def end if elsif else unless case when while until do class module return yield self nil true false and or not begin rescue ensure raise require include attr_accessor puts then in local function print library"), more: [[/[:@]{1,2}\w+/y, "a"]] };
const PHP: Language = { comment: /\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y, string: QUOTED, words: words(`${C_WORDS} function echo foreach as array endif isset empty php`), more: [[/\$\w+/y, "a"]] };

const LANGUAGES: Record<string, Language> = {};
for (const [names, language] of [
  ["py python python3 pyi", PYTHON],
  ["js javascript jsx ts typescript tsx mjs node", SCRIPT],
  ["c h cpp c++ cc hpp java cs csharp go golang rust rs kotlin kt swift scala dart zig proto", C],
  ["sh bash shell zsh console fish dockerfile powershell ps1 makefile", SHELL],
  ["sql postgres postgresql sqlite mysql", SQL],
  ["json json5 jsonc jsonl", JSON_LIKE],
  ["yaml yml toml ini cfg env properties", YAML],
  ["html xml svg vue xhtml", MARKUP],
  ["css scss less", STYLE],
  ["rb ruby r lua elixir ex julia jl", RUBY],
  ["php", PHP],
] as [string, Language][])
  for (const name of names.split(" ")) LANGUAGES[name] = language;

const NUMBER = /\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const LONGEST = 60_000;
/** Each is an element of the page. */
const MOST_COLOURED = 2000;

const span = (kind: string, text: string): string => `<span class="tok-${kind}">${escape(text)}</span>`;

export function highlight(code: string, name: string): string {
  const wanted = name.toLowerCase();
  if (wanted === "diff" || wanted === "patch") return diff(code);
  const language = LANGUAGES[wanted];
  if (!language || code.length > LONGEST) return escape(code);
  let html = "";
  let plain = "";
  let coloured = 0;
  const take = (pattern: RegExp | undefined, at: number): string => {
    if (!pattern) return "";
    pattern.lastIndex = at;
    return pattern.exec(code)?.[0] ?? "";
  };
  const put = (kind: string, text: string) => {
    html += escape(plain) + span(kind, text);
    coloured += 1;
    plain = "";
    return text.length;
  };
  for (let at = 0; at < code.length; ) {
    if (coloured >= MOST_COLOURED) return html + escape(plain + code.slice(at));
    const comment = take(language.comment, at);
    if (comment && !(comment.startsWith("#") && /[\w$&]/.test(code[at - 1] ?? ""))) {
      at += put("c", comment);
      continue;
    }
    const more = (language.more ?? []).map(([pattern, kind]) => [take(pattern, at), kind] as const).find(([text]) => text);
    const string = more ? "" : take(language.string, at);
    const number = more || string || /\w/.test(code[at - 1] ?? "") ? "" : take(NUMBER, at);
    if (more) at += put(more[1], more[0]);
    else if (string) at += put("s", string);
    else if (number) at += put("n", number);
    else {
      const word = take(WORD, at);
      const key = language.anyCase ? word.toLowerCase() : word;
      if (word && language.words.has(key)) at += put("k", word);
      else if (word && code[at + word.length] === "(") at += put("f", word);
      else {
        plain += word || code[at];
        at += word.length || 1;
      }
    }
  }
  return html + escape(plain);
}

function diff(code: string): string {
  const kinds: Record<string, string> = { "+": "i", "-": "d", "@": "f" };
  return code
    .split("\n")
    .map((line) => (kinds[line[0] ?? ""] ? span(kinds[line[0] ?? ""] as string, line) : escape(line)))
    .join("\n");
}
