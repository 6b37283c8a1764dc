import { BlockList, isIP } from 'node:net'

/**
 * A set of networks of both families. Each family has a list of its own: one list for both takes `8.8.8.8` for a member
 * of `::ffff:0:0/96` (Node compares IPv4 addresses with IPv6 rules as mapped ones).
 */
export class Networks {
  readonly #lists = { 4: new BlockList(), 6: new BlockList() }
  readonly isEmpty: boolean

  /** @param networks in CIDR notation. @throws RangeError naming the one that is none */
  constructor(networks: readonly string[]) {
    this.isEmpty = networks.length === 0
    for (const network of networks) this.#add(network)
  }

  /** @param address without brackets or a zone; what is no address is in no network */
  has(address: string): boolean {
    const version = isIP(address)
    if (version === 4) return this.#lists[4].check(address, 'ipv4')
    return version === 6 && this.#lists[6].check(address, 'ipv6')
  }

  #add(network: string): void {
    const [, address = '', prefix = ''] = /^([^/%]+)\/(\d{1,3})$/.exec(network) ?? []
    const version = isIP(address)
    const bits = Number(prefix)
    if (version === 4 && bits <= 32) return this.#lists[4].addSubnet(address, bits, 'ipv4')
    if (version === 6 && bits <= 128) return this.#lists[6].addSubnet(address, bits, 'ipv6')
    throw new RangeError(`"${network}" is no network like 10.0.0.0/8 or fd00::/8`)
  }
}
