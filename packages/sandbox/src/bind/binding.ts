import { sha256OfJson } from '@palyra/primitives';

/** What will run, by its bytes: made before somebody is asked, and checked again when it runs. Plain data. */
export interface Binding {
  readonly kind: 'bound';
  readonly files: readonly BoundFile[];
  /** What may run as well and is not tied to anything. */
  readonly unbound: readonly Unbound[];
  /** Of files and unbound, in hexadecimal: belongs into what is approved. */
  readonly digest: string;
}

export interface BoundFile {
  /** Every link followed. */
  readonly path: string;
  /** program: the command's first word. interpreter: what a `#!` line names. script: an operand that the program runs. */
  readonly role: 'program' | 'interpreter' | 'script';
  /** In hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
  /** in_place: nobody who runs tools can write it. copied: its bytes are taken into memory, and run from there. */
  readonly how: 'in_place' | 'copied';
}

export interface Unbound {
  readonly what: 'libraries' | 'imports' | 'children' | 'settings' | 'operand' | 'environment';
  /** A sentence for people. */
  readonly why: string;
}

export function bindingOf(files: readonly BoundFile[], unbound: readonly Unbound[]): Binding {
  // Not how: the same bytes may be copied in one run and not in the next, and are the same bytes.
  const bound = files.map(({ path, role, sha256, bytes }) => ({ path, role, sha256, bytes }));
  const left = unbound.map(({ what, why }) => ({ what, why }));
  return { kind: 'bound', files, unbound, digest: sha256OfJson({ format: 'palyra-binding-1', bound, left }) };
}
