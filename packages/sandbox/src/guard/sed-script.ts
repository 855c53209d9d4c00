/** What in a call of sed runs a command, or reads or writes a file that its script names; undefined when nothing does. */
export function sedRefusal(args: readonly string[]): string | undefined {
  const { scripts, operands } = scriptsOf(args);
  const [first] = operands;
  const all = scripts.length > 0 || first === undefined ? scripts : [first];
  return all.find((script) => !isHarmlessScript(script));
}

interface SedArguments {
  readonly scripts: string[];
  readonly operands: string[];
}

function scriptsOf(args: readonly string[]): SedArguments {
  const found: SedArguments = { scripts: [], operands: [] };
  const ahead = args.toReversed();
  for (let argument = ahead.pop(); argument !== undefined; argument = ahead.pop()) {
    if (argument === '--') {
      found.operands.push(...ahead.toReversed());
      return found;
    }
    if (argument === '-' || !argument.startsWith('-')) found.operands.push(argument);
    else takeOption(argument, ahead, found);
  }
  return found;
}

function takeOption(argument: string, ahead: string[], found: SedArguments): void {
  const long = /^(--[a-z-]+)(?:=([\s\S]*))?$/.exec(argument);
  const [, name = '', value] = long ?? [];
  if (long !== null && '--expression'.startsWith(name)) {
    found.scripts.push(value ?? ahead.pop() ?? '');
    return;
  }
  if (long !== null && '--line-length'.startsWith(name) && value === undefined) ahead.pop();
  const short = argument.startsWith('--') ? null : /^-([nErsuzb]*)([el])([\s\S]*)$/.exec(argument);
  if (short === null) return;
  const attached = short[3] === '' ? (ahead.pop() ?? '') : (short[3] ?? '');
  if (short[2] === 'e') found.scripts.push(attached);
}

/**
 * SECURITY: T-13 — what is understood completely and harmless, and nothing else: GNU sed's `e`, `s///e`, `w`, `W`, `r`
 * and `R` can stand behind any address, so a script that this does not understand is refused with them.
 */
export function isHarmlessScript(script: string): boolean {
  let rest = script;
  while (rest !== '') {
    const after = skipCommand(rest);
    if (after === undefined) return false;
    rest = after;
  }
  return true;
}

/** What follows the first command; undefined when it is none of the known ones. */
function skipCommand(text: string): string | undefined {
  const start = skipAddresses(text.replace(/^[\s;]+/, ''));
  if (start === undefined || start === '') return start;
  const command = start[0] ?? '';
  const rest = start.slice(1);
  if ('{}'.includes(command)) return rest;
  if ('pdnNgGhHxDPz=F'.includes(command)) return endOfCommand(rest);
  if ('qQlL'.includes(command)) return endOfCommand(rest.replace(/^[ \t]*\d*/, ''));
  if ('btT:'.includes(command)) return endOfCommand(rest.replace(/^[ \t]*[A-Za-z0-9_]*/, ''));
  // Text to the end of its line; a text that goes on in the next line is read as commands, which refuses too much only.
  if ('aic'.includes(command)) return rest.replace(/^[^\n]*/, '');
  if (command === '#') return rest.replace(/^[^\n]*/, '');
  return command === 's' || command === 'y' ? skipSubstitution(command, rest) : undefined;
}

function endOfCommand(text: string): string | undefined {
  const rest = text.replace(/^[ \t]+/, '');
  return rest === '' || /^[;\n}#]/.test(rest) ? rest : undefined;
}

function skipAddresses(text: string): string | undefined {
  const first = skipAddress(text);
  if (first === text || first === undefined) return first?.replace(/^[\s!]+/, '');
  const comma = /^[ \t]*,[ \t]*/.exec(first);
  const second = comma === null ? first : skipAddress(first.slice(comma[0].length));
  if (comma !== null && second === first.slice(comma[0].length)) return undefined;
  return second?.replace(/^[\s!]+/, '');
}

function skipAddress(text: string): string | undefined {
  const plain = /^(?:\$|\d+(?:~\d+)?|[+~]\d+)/.exec(text);
  if (plain !== null) return text.slice(plain[0].length);
  if (!/^[/\\]/.test(text)) return text;
  const opening = text.startsWith('\\') ? 2 : 1;
  const end = endOfPart(text, opening, text[opening - 1] ?? '');
  return end === undefined ? undefined : text.slice(end + 1).replace(/^[IM]+/, '');
}

function skipSubstitution(command: 's' | 'y', text: string): string | undefined {
  const delimiter = text[0] ?? '';
  if (/^[\s\\]?$/.test(delimiter)) return undefined;
  const middle = endOfPart(text, 1, delimiter);
  const end = middle === undefined ? undefined : endOfReplacement(text, middle + 1, delimiter);
  if (end === undefined) return undefined;
  const flags = command === 's' ? /^[gpiImM0-9]*/ : /^/;
  return endOfCommand(text.slice(end + 1).replace(flags, ''));
}

/** Seds differ on a delimiter between brackets: where the two readings differ, there is none. */
function endOfPart(text: string, from: number, delimiter: string): number | undefined {
  const plain = endOfReplacement(text, from, delimiter);
  return plain === undefined || hasOpenBracket(text.slice(from, plain)) ? undefined : plain;
}

function hasOpenBracket(regex: string): boolean {
  const closed = regex.replace(/\\[\s\S]/g, '').replace(/\[\^?\]?(?:\[[:.=][^\]]*\]|[^\]])*\]/g, '');
  return closed.includes('[');
}

function endOfReplacement(text: string, from: number, delimiter: string): number | undefined {
  for (let index = from; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === delimiter) return index;
  }
  return undefined;
}
