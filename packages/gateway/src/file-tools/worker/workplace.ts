import type { FileLimits } from './limits.ts';
import type { AllowedProtected, ProtectedPaths } from './protected-paths.ts';
import type { Root } from './walk-path.ts';

/** What every tool works with: where, how much, and what it leaves alone. */
export interface Workplace {
  readonly root: Root;
  readonly limits: FileLimits;
  readonly guard: { readonly protectedPaths: ProtectedPaths; readonly allowProtected: AllowedProtected };
}
