import { visibleText } from '@palyra/primitives';
import { PairingError } from './pairing-error.ts';
import { refused } from './refusal.ts';

const MAX_CHARACTERS = 64;

/** What a device may be called: text that is shown as it is. Throws `pairing.invalid_name`. */
export function checkDeviceName(name: string): string {
  if (isDeviceName(name)) return name;
  throw new PairingError('pairing.invalid_name', `"${shownName(name)}" cannot be the name of a device.`, {
    fix: `Give 1 to ${MAX_CHARACTERS} visible characters without a line break, a backslash or marks that hide or reorder.`,
    refusal: { code: 'pairing.invalid_name' },
  });
}

/** As `checkDeviceName`, for what came over the wire. */
export function checkTheirName(name: string): string {
  if (isDeviceName(name)) return name;
  throw refused({ code: 'pairing.invalid_name' });
}

/** For a sentence with other words in it: letters that run from right to left are escaped, or they would move those. */
export function shownName(name: string): string {
  return visibleText(name, { maxCharacters: MAX_CHARACTERS, isEmbedded: true });
}

function isDeviceName(name: string): boolean {
  // SECURITY: T-34 — the operator recognizes the device by what is shown: no name may hide, reorder or fake a part of it.
  return name.isWellFormed() && name !== '' && Array.from(name).length <= MAX_CHARACTERS && visibleText(name) === name;
}
