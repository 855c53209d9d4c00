import type { JsonObject } from '@palyra/primitives';
import { objectAt, unknownFormat, withMember } from './json-settings.ts';
import { OWN_SERVER } from './tool-table.ts';

/** Throws `agents.unknown_format` when there is another one of our name: it is not ours to replace. */
export function addServer(document: JsonObject, field: string, server: JsonObject): JsonObject {
  const servers = objectAt(document, field);
  const known = servers[OWN_SERVER];
  // SECURITY: T-38 — calls to a server of this name are taken for calls to Palyra.
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(server)) {
    throw unknownFormat(`There is another MCP server of the name ${OWN_SERVER} in it.`);
  }
  return withMember(document, field, { ...servers, [OWN_SERVER]: server });
}

export function removeServer(document: JsonObject, field: string): JsonObject {
  const { [OWN_SERVER]: _, ...others } = objectAt(document, field);
  return withMember(document, field, others);
}
