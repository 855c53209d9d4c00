import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';

const SHORTEST = 4;
const WHOLE = 26;

/** The one that was meant, by its id or the last four or more characters of it. Throws `cli.not_found`, `cli.ambiguous_id`. */
export function pickById<Item extends { readonly id: string }>(
  items: readonly Item[],
  typed: string,
  { what, list }: { readonly what: string; readonly list: string },
): Item {
  const wanted = typed.toUpperCase();
  const isLongEnough = wanted.length >= SHORTEST && wanted.length <= WHOLE;
  const found = isLongEnough ? items.filter(({ id }) => id.endsWith(wanted)) : [];
  const [only] = found;
  if (only === undefined) {
    const shown = visibleText(typed, { maxCharacters: 40 });
    throw new CliError('cli.not_found', `There is no ${what} whose id ends in "${shown}".`, {
      fix: `Give its id, or the last ${SHORTEST} or more characters, as \`${list}\` has it.`,
    });
  }
  if (found.length === 1) return only;
  throw new CliError('cli.ambiguous_id', `The ids of several ${what}s end in ${wanted}.`, { fix: 'Give more of it.' });
}
