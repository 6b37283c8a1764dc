/**
 * Who may import whom (docs/architecture.md, "The house"). A folder imports what its row lists, itself, and `lib`.
 * The reason stands beside each row, so that whoever is refused learns why and where the code belongs.
 */
const ROOMS = {
  lib: [[], 'lib holds leaves without domain words; it imports no other room'],
  core: [[], 'core is the vocabulary that everyone imports; it knows nobody'],
  wire: [['core'], 'codecs are pure: no I/O, no tenants, no money'],
  http: [['core'], 'the edges move bytes; what they mean is decided above'],
  storage: [['core'], 'storage holds no domain words; SQL about a table lives in its owner’s store.ts'],
  providers: [['core', 'wire', 'http/outbound'], 'a provider is data about a vendor'],
  catalog: [['core', 'storage'], 'the catalog is what was declared; it knows no request and no tenant'],
  tenants: [['core', 'storage'], 'tenants say who calls; money and models are others’ affair'],
  ledger: [['core', 'storage'], 'the ledger posts amounts that others have computed'],
  routing: [['core', 'catalog'], 'routing decides, the relay acts: a plan is a pure function'],
  quota: [['core', 'ledger', 'storage'], 'quota is asked for amounts; it knows no price and no request'],
  metering: [
    ['core', 'catalog', 'ledger', 'quota', 'storage'],
    'metering records what happened; it calls no upstream and knows no caller',
  ],
  'budget-alerts': [['core', 'storage'], 'alerts read what there is and tell; they stop nobody'],
  reconciliation: [['core', 'storage'], 'who checks the books trusts no other room’s word for them'],
  'stored-responses': [['core', 'storage'], 'what a response says is read in wire; here it is kept and given back'],
  relay: [
    ['core', 'wire', 'http/outbound', 'providers', 'catalog', 'tenants', 'routing', 'quota', 'metering'],
    'the relay runs a call; endpoints and the control plane stand above it',
  ],
  api: [
    ['core', 'wire', 'http/inbound', 'catalog', 'tenants', 'stored-responses', 'quota', 'relay'],
    'endpoints hold no logic: decode, hand over, encode',
  ],
  management: [
    ['core', 'http/inbound', 'catalog', 'tenants', 'ledger', 'quota', 'metering', 'storage'],
    'the control plane shows and changes domains; it never relays',
  ],
  sandbox: [[], 'the sandbox plays a provider: sharing code with the gateway would let one bug hide another'],
}

const EVERYTHING = ['app', 'cli']

const inRoom = room => `^src/${room}/`

const rooms = Object.entries(ROOMS).map(([room, [allowed, reason]]) => ({
  name: `${room}-imports`,
  comment: `${room} may import ${['lib', ...allowed].join(', ')} only: ${reason}.`,
  severity: 'error',
  from: { path: inRoom(room), pathNot: '\\.test\\.ts$' },
  to: { path: '^src/', pathNot: [room, 'lib', ...allowed].map(inRoom) },
}))

/** Folders whose children must not know each other, and what the children share. */
const SIBLINGS = [
  ['wire', 'formats meet in the neutral form, never each other'],
  ['providers', 'vendors share nothing; what two have in common belongs in wire or in the provider type'],
]

const siblings = SIBLINGS.map(([room, reason]) => ({
  name: `${room}-siblings`,
  comment: `${room}/<a> must not import ${room}/<b>: ${reason}.`,
  severity: 'error',
  from: { path: `^src/${room}/([^/]+)/` },
  to: { path: `^src/${room}/[^/]+/`, pathNot: [`^src/${room}/$1/`, '^src/wire/(json|sse)/'] },
}))

export default {
  forbidden: [
    ...rooms,
    ...siblings,
    {
      name: 'no-cycles',
      comment: 'A cycle means that two files are one, or that what they share belongs in a third.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'roots-at-the-top',
      comment: 'Only app, cli and main compose; nobody imports them.',
      severity: 'error',
      from: { pathNot: ['^src/main\\.ts$', ...EVERYTHING.map(inRoom), '\\.test\\.ts$', '^test/', '^bench/'] },
      to: { path: ['^src/main\\.ts$', ...EVERYTHING.map(inRoom)] },
    },
    {
      name: 'node-http-stops-in-http',
      comment: "Node's HTTP types and undici stop in src/http; everything above speaks Sink and Outbound.",
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/http/', '^src/sandbox/', '\\.test\\.ts$'] },
      to: { path: '^(node:)?(http|https|http2)$|node_modules/(undici|fastify)' },
    },
    {
      name: 'sql-in-stores',
      comment: 'SQL lives in storage/ and in store.ts files, so that each table has one owner.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/storage/',
          '/store\\.ts$',
          '^src/metering/partitions\\.ts$',
          '^src/app/(bootstrap|secret)\\.ts$',
          '^src/cli/doctor\\.ts$',
          '\\.test\\.ts$',
        ],
      },
      to: { path: 'node_modules/(kysely|pg)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'resolvable',
      comment: 'Unresolvable imports are mistakes.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
}
