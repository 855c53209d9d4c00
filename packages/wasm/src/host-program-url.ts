import { entryUrl } from '@palyra/primitives';

/** The program of a host. It imports Node and its neighbours only: its directory is all of our code that its box shows. */
export function hostProgramUrl(): URL {
  return entryUrl(import.meta.url, './host/host-program');
}
