import { join } from 'node:path';
import { checkHomePath } from '../home-layout.ts';

/** Where a palyrad that is a service keeps its things. Each directory has another owner. */
export interface ServiceLayout {
  /** Root's, so that nobody can put something else in place of what is in it; anybody may pass through. */
  readonly state: string;
  /** Palyra's home: palyrad's alone. */
  readonly home: string;
  /** What tools wrote to protected paths: of the user who owns the workspaces. */
  readonly kept: string;
}

/** Throws `config.invalid_home`. */
export function serviceLayout(state: string): ServiceLayout {
  const root = checkHomePath(state);
  return { state: root, home: join(root, 'home'), kept: join(root, 'kept') };
}
