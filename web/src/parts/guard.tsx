// What cannot be drawn says so in its place, and takes nothing else with it.

import { Component, type ComponentChildren } from "preact";
import { Failed } from "../reading";

export class Guard extends Component<{ what: string; children: ComponentChildren }, { failed: string }> {
  override state = { failed: "" };

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return <Failed what={this.props.what} why={this.state.failed} again={() => this.setState({ failed: "" })} />;
  }
}
