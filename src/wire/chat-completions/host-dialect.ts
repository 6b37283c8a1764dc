import type { Quirks, Respelling } from '#core/work.ts'
import { applyEdits, type Edit } from '../json/edit.ts'
import { scanElements } from '../json/elements.ts'
import { findMember } from '../json/members.ts'
import { isObject } from '../json/parse.ts'
import { refusedMembers, respell, respellMembers } from '../json/respell.ts'

/**
 * Requests in the words of hosts that speak this format with differences: members under other names or none, roles
 * that are called otherwise. What is told by names is the same for a body that the gateway writes and for one that it
 * passes on.
 */

type Json = Readonly<Record<string, unknown>>

/** A request body that the gateway has written. */
export function encodeForHost(body: Json, quirks: Quirks): Record<string, unknown> {
  const { messageFields = {}, roles = {} } = quirks
  const messages = messagesOf(body).map(message => {
    const { role } = message
    return respell({ ...message, ...(isRenamed(role, roles) && { role: roles[role] }) }, messageFields)
  })
  return respell({ ...body, messages }, fieldsOf(quirks))
}

/** A client's own bytes: what is not named stays as it is. */
export function editForHost(bytes: Buffer, quirks: Quirks): Buffer {
  const { messageFields = {}, roles = {} } = quirks
  const fields = fieldsOf(quirks)
  // Nearly every host takes the format as it is, and no body is looked through for those.
  return applyEdits(bytes, [
    ...(isEmpty(fields) ? [] : respellMembers(bytes, fields)),
    ...(isEmpty(messageFields) && isEmpty(roles) ? [] : editMessages(bytes, messageFields, roles)),
  ])
}

/** What of the request the host is not told. */
export function lossesAtHost(body: Json, { fields = {}, messageFields = {} }: Quirks): string[] {
  const refused = [
    ...refusedMembers(body, fields),
    ...messagesOf(body).flatMap(message => refusedMembers(message, messageFields)),
  ]
  return [...new Set(refused)].map(field => `${field} is not taken by this provider`)
}

/** What takes more than other names: schemas, ids that are too long, tools that take free text. */
export function isBeyondEdits(body: Json, { jsonSchemas, shortToolIds, customTools }: Quirks): boolean {
  const { response_format: format, tools } = body
  if (jsonSchemas === false && isObject(format) && format.type === 'json_schema') return true
  if (shortToolIds === true && messagesOf(body).some(({ role }) => role === 'tool')) return true
  return customTools === false && Array.isArray(tools) && tools.some(tool => isObject(tool) && tool.type === 'custom')
}

/** A host that refuses `stream_options` refuses a client's own as well. */
function fieldsOf({ fields = {}, streamOptions }: Quirks): Respelling {
  return streamOptions === false ? { ...fields, stream_options: null } : fields
}

function editMessages(bytes: Buffer, names: Respelling, roles: Readonly<Record<string, string>>): Edit[] {
  const messages = findMember(bytes, 'messages')
  if (!messages) return []
  return scanElements(bytes, messages.valueStart).flatMap(({ start }) => {
    const role = findMember(bytes, 'role', start)
    const said: unknown = role && JSON.parse(bytes.toString('utf8', role.valueStart, role.valueEnd))
    const renamed = role && isRenamed(said, roles)
    return [
      ...respellMembers(bytes, names, start),
      ...(renamed ? [{ start: role.valueStart, end: role.valueEnd, text: JSON.stringify(roles[said]) }] : []),
    ]
  })
}

function messagesOf({ messages }: Json): Json[] {
  return Array.isArray(messages) ? messages.filter(isObject) : []
}

function isRenamed(role: unknown, roles: Readonly<Record<string, string>>): role is string {
  return typeof role === 'string' && Object.hasOwn(roles, role)
}

function isEmpty(names: object): boolean {
  return Object.keys(names).length === 0
}
