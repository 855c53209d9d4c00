import type { HookSwitch } from '../client.ts';
import { readSettings } from '../own-rules/listed-rules.ts';
import { rules } from './rules.ts';

/** A project may switch its user's hooks off; those of an administrator only an administrator. */
export const hookSwitch: HookSwitch = {
  places: rules.places,
  whyOff(text) {
    const { disableAllHooks, allowManagedHooksOnly } = readSettings(text);
    if (disableAllHooks !== undefined && disableAllHooks !== false) return 'disableAllHooks';
    // An administrator's, and of no effect in other settings: whoever wrote it there wanted ours off as well.
    if (allowManagedHooksOnly !== undefined && allowManagedHooksOnly !== false) return 'allowManagedHooksOnly';
    return undefined;
  },
};
