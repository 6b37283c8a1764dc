import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { OutboundClient } from './client.ts'
import type { OutboundFailure } from './failure.ts'
import { OutboundGuard, type OutboundGuardOptions } from './guard.ts'
import { GLOBAL_UNICAST_IPV6, isGlobalAddress, SPECIAL_IPV4, SPECIAL_IPV6 } from './special-networks.ts'

/** Ranges of IPv6 outside global unicast that have a name, so that each is tried. */
const OUTSIDE_UNICAST = [
  '::/128',
  '::1/128',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '1000::/4',
  '4000::/3',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

/** Twelve ways in which a URL may spell an IPv4 address, and to embed it in an IPv6 one. */
function encodings(address: string): string[] {
  const parts = address.split('.').map(Number)
  const value = fromFour(address)
  const hex = (number: number | bigint) => `0x${number.toString(16)}`
  const octal = (number: number | bigint) => `0${number.toString(8)}`
  const groups = `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
  return [
    address,
    `${address}.`,
    value.toString(),
    hex(value),
    octal(value),
    parts.map(hex).join('.'),
    parts.map(octal).join('.'),
    `${parts[0]}.${value & 0xffffffn}`,
    address.replace(/\d/g, digit => `%3${digit}`),
    address.replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
    address.replaceAll('.', '。'),
    `[::ffff:${address}]`,
    `[::ffff:${groups}]`,
    `[::${address}]`,
    `[64:ff9b::${groups}]`,
    `[64:ff9b:1::${groups}]`,
    `[2002:${groups}::1]`,
  ]
}

/** This machine, the cloud's metadata service, and two networks of companies. */
const ENCODED = ['127.0.0.1', '0.0.0.0', '169.254.169.254', '10.0.0.1', '192.168.1.1'].flatMap(encodings)

const ODD_LITERALS = ['127.1', '0', '[0:0:0:0:0:0:0:1]', '①②⑦.⓪.⓪.①', '[::ffff:8.8.8.8]', '[fd00:ec2::254]']

/** Names, and what the resolver of these tests makes of them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1'],
  'localhost.': ['127.0.0.1'],
  'internal.test': ['10.1.2.3'],
  'internal.test.': ['10.1.2.3'],
  'metadata.test': ['169.254.169.254'],
  'six.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'translated.test': ['64:ff9b::7f00:1'],
  'local.test': ['fe80::1'],
  'mixed.test': ['93.184.215.14', '127.0.0.1'],
  'mixed-last.test': ['93.184.215.14', '2606:4700::1111', 'fd00::1'],
  'mixed-families.test': ['2606:4700::1111', '192.168.1.1'],
  'nowhere.test': [],
  'odd.test': ['not an address'],
  'xn--exmple-cua.test': ['127.0.0.1'],
}

const WITH_CREDENTIALS = ['user@8.8.8.8', 'user:password@8.8.8.8', ':password@8.8.8.8', '8.8.8.8@internal.test']

function ends(network: string): [first: string, last: string] {
  const [address = '', prefix = ''] = network.split('/')
  const isFour = net.isIPv4(address)
  const width = isFour ? 32 : 128
  const size = 1n << BigInt(width - Number(prefix))
  const first = isFour ? fromFour(address) : fromSix(address)
  const text = isFour ? toFour : toSix
  return [text(first), text(first + size - 1n)]
}

function fromFour(address: string): bigint {
  return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
}

function toFour(value: bigint): string {
  return [24n, 16n, 8n, 0n].map(shift => (value >> shift) & 255n).join('.')
}

function fromSix(address: string): bigint {
  const [head = '', tail] = address.split('::')
  const before = head.split(':').filter(Boolean)
  const behind = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? [] : new Array(8 - before.length - behind.length).fill('0')
  return [...before, ...zeros, ...behind].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
}

function toSix(value: bigint): string {
  return Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')
}

const bracketed = (address: string) => (net.isIPv6(address) ? `[${address}]` : address)

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => bracketed(address)))
}

const CORPUS = [
  ...ENCODED,
  ...ODD_LITERALS,
  ...Object.keys(NAMES),
  ...WITH_CREDENTIALS,
  ...[...SPECIAL_IPV4, ...SPECIAL_IPV6, ...OUTSIDE_UNICAST].flatMap(ends).map(bracketed),
  ...ownAddresses(),
]

type Seen = { readonly status: number; readonly location: unknown } | { readonly failure: OutboundFailure }

describe('the outbound guard', () => {
  /** Hears whoever comes to any address of this machine. */
  const canary = net.createServer(socket => {
    visits++
    socket.destroy()
  })
  let visits = 0
  let port: number

  before(async () => {
    canary.listen(0, '::').once('error', () => canary.listen(0, '0.0.0.0'))
    await once(canary, 'listening')
    port = (canary.address() as AddressInfo).port
  })

  after(() => canary.close())

  const resolve = async (hostname: string) => NAMES[hostname] ?? []

  async function visit(url: URL, options: Partial<OutboundGuardOptions> = {}): Promise<Seen> {
    const client = new OutboundClient(new OutboundGuard({ trustedNetworks: [], resolve, ...options }))
    try {
      return await new Promise(done => {
        const outgoing = client.send(
          {
            method: 'GET',
            url,
            headers: {},
            scope: 'test',
            isGuarded: true,
            timeouts: { connectMs: 2_000, firstByteMs: 2_000, idleMs: 2_000 },
          },
          {
            started: (status, { location }) => {
              done({ status, location })
              outgoing.abort()
            },
            data: () => {},
            ended: () => {},
            failed: failure => done({ failure }),
          },
        )
      })
    } finally {
      await client.close()
    }
  }

  it('goes to no address of a corpus of ways inside, and no connection is made', async () => {
    assert.ok(CORPUS.length >= 150, `${CORPUS.length} hosts`)
    for (const host of CORPUS) {
      for (const scheme of ['https', 'http']) {
        const seen = await visit(new URL(`${scheme}://${host.replace(/\/.*/, '')}:${port}/`))
        assert.ok('failure' in seen, host)
        assert.deepEqual([seen.failure.kind, seen.failure.wasSent], ['forbidden', false], `${scheme}://${host}`)
      }
    }
    assert.equal(visits, 0)
    // The canary does hear those who come.
    net.connect(port, '127.0.0.1').on('error', () => {})
    await once(canary, 'connection')
    visits = 0
  })

  it('objects at once to what a URL shows by itself', () => {
    const guard = new OutboundGuard({ trustedNetworks: [] })
    const objections: [url: string, objection: RegExp | undefined][] = [
      ['https://api.example.com/v1', undefined],
      ['https://8.8.8.8/v1', undefined],
      ['https://[2606:4700::1111]:8443/v1', undefined],
      ['http://api.example.com/v1', /https/],
      ['http://8.8.8.8/', /https/],
      ['ftp://api.example.com/', /https/],
      ['file:///etc/passwd', /https/],
      ['https://user@api.example.com/', /user name/],
      ['https://:secret@api.example.com/', /password/],
      ['https://api.example.com/#here', /fragment/],
      ['https://2130706433/', /not a public address/],
      ['https://[::ffff:10.0.0.1]/', /not a public address/],
    ]
    for (const [url, objection] of objections) {
      const told = guard.objectionTo(new URL(url))
      if (objection) assert.match(told ?? '', objection, url)
      else assert.equal(told, undefined, url)
    }
  })

  it('knows the addresses beside special ranges for public ones', () => {
    const besides = SPECIAL_IPV4.flatMap(network => {
      const [first, last] = ends(network)
      return [toFour(fromFour(first) - 1n), toFour(fromFour(last) + 1n)]
    }).filter(address => net.isIPv4(address) && !SPECIAL_IPV4.some(network => isWithin(address, network)))
    assert.ok(besides.length > 20)
    for (const address of [...besides, '8.8.8.8', '2606:4700::1111', '2a00::1', '2001:200::', '2003::', '3fff:1000::'])
      assert.ok(isGlobalAddress(address), address)
    const [first, last] = ends(GLOBAL_UNICAST_IPV6)
    assert.ok(isGlobalAddress(first))
    assert.ok(isGlobalAddress('3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff'))
    assert.ok(isGlobalAddress(last))
  })

  it('connects to the address that it judged, though the name leads elsewhere by then', async () => {
    const inside = net.createServer(() => visits++).listen(0, '127.0.0.1')
    await once(inside, 'listening')
    const { port } = inside.address() as AddressInfo
    const upstream = http.createServer((_request, response) => response.end()).listen(port, '127.0.0.2')
    await once(upstream, 'listening')
    try {
      const answers = [['127.0.0.2'], ['127.0.0.1']]
      let asked = 0
      const rebinding = async () => answers[asked++] ?? []
      const options = { trustedNetworks: ['127.0.0.2/32'], resolve: rebinding }
      assert.deepEqual(await visit(new URL(`http://rebinding.test:${port}/`), options), {
        status: 200,
        location: undefined,
      })
      assert.equal(asked, 1)
      // And one that leads inside the next time is refused then.
      const later = await visit(new URL(`http://rebinding.test:${port}/`), options)
      assert.ok('failure' in later && later.failure.kind === 'forbidden')
      assert.equal(visits, 0)
    } finally {
      upstream.close()
      inside.close()
    }
  })

  it('follows no redirect and no proxy', async () => {
    const upstream = http.createServer((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end()
    })
    upstream.listen(0, '127.0.0.2')
    await once(upstream, 'listening')
    for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) process.env[name] = `http://127.0.0.1:${port}`
    try {
      const { port: upstreamPort } = upstream.address() as AddressInfo
      const seen = await visit(new URL(`http://127.0.0.2:${upstreamPort}/`), { trustedNetworks: ['127.0.0.2/32'] })
      assert.deepEqual(seen, { status: 302, location: `http://127.0.0.1:${port}/` })
      assert.equal(visits, 0)
    } finally {
      for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) delete process.env[name]
      upstream.close()
    }
  })

  it('tells TLS the name, not the address', async () => {
    const names: string[] = []
    const server = tls.createServer({
      SNICallback: (name, done) => {
        names.push(name)
        done(new Error('no certificate here'))
      },
    })
    server.on('tlsClientError', () => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const { port: serverPort } = server.address() as AddressInfo
      const options = { trustedNetworks: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] }
      const seen = await visit(new URL(`https://api.example.com:${serverPort}/`), options)
      assert.ok('failure' in seen && seen.failure.kind === 'connect')
      assert.deepEqual(names, ['api.example.com'])
    } finally {
      server.close()
    }
  })

  it('lets through what is trusted, over plain HTTP too, but never back to its own port', async () => {
    const upstream = http.createServer((_request, response) => response.end())
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    try {
      const { port: upstreamPort } = upstream.address() as AddressInfo
      const url = new URL(`http://127.0.0.1:${upstreamPort}/`)
      const trustedNetworks = ['127.0.0.0/8']
      assert.deepEqual(await visit(url, { trustedNetworks }), { status: 200, location: undefined })
      const looping = await visit(url, { trustedNetworks, ownPort: () => upstreamPort })
      assert.ok('failure' in looping && looping.failure.kind === 'forbidden')
      assert.match(looping.failure.cause.message, /back to this gateway/)
    } finally {
      upstream.close()
    }
  })

  it('waits for a resolver no longer than for a connection', async () => {
    const never = () => new Promise<never>(() => {})
    const client = new OutboundClient(new OutboundGuard({ trustedNetworks: [], resolve: never }))
    const failure = await new Promise<OutboundFailure>(failed => {
      client.send(
        {
          method: 'GET',
          url: new URL('https://slow.test/'),
          headers: {},
          scope: 'test',
          isGuarded: true,
          timeouts: { connectMs: 20, firstByteMs: 1_000, idleMs: 1_000 },
        },
        { started: () => {}, data: () => {}, ended: () => {}, failed },
      )
    })
    assert.equal(failure.kind, 'connect-timeout')
    await client.close()
  })

  it('refuses a network that is none', () => {
    for (const network of ['10.0.0.0', '10.0.0.0/33', '::/129', 'localhost/8', '', '10.0.0.0/8/8', '10.0.0.0/-1']) {
      assert.throws(() => new OutboundGuard({ trustedNetworks: [network] }), RangeError, network)
    }
  })
})

function isWithin(address: string, network: string): boolean {
  const [first, last] = ends(network).map(fromFour) as [bigint, bigint]
  const value = fromFour(address)
  return value >= first && value <= last
}
