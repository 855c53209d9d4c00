import type { SettingsPlaces } from '../settings-places.ts';

/** What a person has settled in an agent's own settings about commands of its shell. Rules that allow are none of these. */
export interface OwnRule {
  readonly effect: 'deny' | 'ask';
  /** As the person wrote it. */
  readonly text: string;
  readonly covers: CommandPattern;
}

export type CommandPattern =
  | { readonly kind: 'any' }
  /** The words it begins with, with `*` for anything: `git push`, `* --force`. */
  | { readonly kind: 'beginning'; readonly text: string }
  /** The whole of it, with `*` for anything. */
  | { readonly kind: 'whole'; readonly text: string }
  /** Its first words, each one of these. */
  | { readonly kind: 'words'; readonly words: readonly (readonly string[])[] }
  /** A file that it names, in gitignore's form. */
  | { readonly kind: 'path'; readonly pattern: string };

/** Where an agent's program looks for such rules, and how they are written there. */
export interface ClientRules {
  readonly places: SettingsPlaces;
  /** Throws `agents.unknown_format`: then it is not known what the person wanted. */
  read(text: string): readonly OwnRule[];
}
