import { posix } from 'node:path';
import { isBesideTheProduct, isSource, type Repository } from './repository.ts';
import { type Token, tokenize } from './tokenize.ts';

const STEPS = 'packages/gateway/src/tool-call';
const MAKER = `${STEPS}/permitted-call.ts`;

/** Who takes what from the maker of permitted calls; everybody else takes types. */
const TAKERS: Readonly<Record<string, string>> = {
  [`${STEPS}/approve.ts`]: 'permit',
  [`${STEPS}/execute.ts`]: 'consume',
};
/** A tool is run by the step that consumes its permission, and that step by the pipeline. */
const RUNNERS: readonly string[] = [`${STEPS}/execute.ts`, `${STEPS}/run-tool-call.ts`];

/** Sentences about every other way to a call that may run, or around it; empty when there is none. */
export function checkPermittedCalls(repository: Repository): string[] {
  return repository.files
    .filter((path) => /^(?:packages\/gateway|apps)\//.test(path) && isSource(path) && !isBesideTheProduct(path))
    .flatMap((path) => {
      const tokens = tokenize(repository.read(path));
      return tokens.flatMap((token, at) => {
        const fault = takenAt(path, tokens, at) ?? castAt(path, tokens, at) ?? runAt(path, tokens, at);
        return fault === undefined ? [] : [`${path}:${token.line}: ${fault}`];
      });
    });
}

/** At the name of the module, whatever stands before it. */
function takenAt(path: string, tokens: readonly Token[], at: number): string | undefined {
  const token = tokens[at];
  if (token?.kind !== 'string' || posix.join(posix.dirname(path), token.text) !== MAKER) return undefined;
  const start = tokens.findLastIndex(
    ({ kind, text }, index) => index < at && kind === 'word' && /^(?:im|ex)port$/.test(text),
  );
  const binding = tokens.slice(start + 1, at).map(({ text }) => text);
  if (binding[0] === 'type') return undefined;
  const named = /^\{ (?<names>.*) \} from$/.exec(binding.join(' '))?.groups?.['names'];
  const values = named
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '));
  const own = TAKERS[path];
  const isOwn = tokens[start]?.text === 'import' && own !== undefined && values?.join() === own;
  return isOwn || values?.length === 0
    ? undefined
    : 'only approve makes permitted calls, and only execute consumes them';
}

function castAt(path: string, tokens: readonly Token[], at: number): string | undefined {
  if (path === MAKER || tokens[at]?.text !== 'as' || tokens[at + 1]?.text !== 'PermittedCall') return undefined;
  return 'a call is permitted by approve, not by a cast';
}

/** With an argument: queries of the database are executed without. */
function runAt(path: string, tokens: readonly Token[], at: number): string | undefined {
  const [dot, name, open, argument] = tokens.slice(at, at + 4).map(({ text }) => text);
  if (dot !== '.' || name !== 'execute' || open !== '(' || argument === ')' || RUNNERS.includes(path)) return undefined;
  return 'a tool is executed by the step that consumes its permission';
}
