import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { DEVICE_IDS, deviceAsJson } from '../device-output.ts';
import { asOperator } from '../identity-home.ts';
import { pickById } from '../pick-id.ts';

/** What a device may be used for at all; policies say the rest. */
export const deviceRoles: CommandDefinition = {
  name: 'device roles',
  group: 'Identity',
  summary: 'Say what a device may be used for',
  details:
    'Replaces the roles of a device. An operator can be admin, approver, auditor and operator; an agent can be agent; a ' +
    'service can be agent and auditor. Without --role it has none. Needs the role admin.',
  arguments: [{ name: 'DEVICE', summary: 'Its id, or the last 4 or more characters', isRequired: true }],
  options: [{ flags: '--role <ROLE>', summary: 'May be given several times', isRepeatable: true }],
  async run({ arguments: [typed = ''], options }, context) {
    const roles = options['role'] as readonly string[];
    return asOperator(context, 'admin', async ({ registry, operator, warnings }) => {
      const { id, name } = pickById(await registry.list(), typed, DEVICE_IDS);
      const device = await registry.setRoles({ device: id, roles, by: operator.principal });
      return {
        json: { device: deviceAsJson(device) },
        render: () => `${visibleText(name)} (${id}) has the roles: ${device.roles.join(', ') || 'none'}.\n`,
        warnings,
      };
    });
  },
};
