class Trinity < Formula
  desc "Reinforcement fine-tuning of language models from one binary"
  homepage "https://github.com/seed-d9ad8ee0/trinity"
  version "<<.version>>"
  license "Apache-2.0"
<<range $os, $name := of_systems>>
  on_<<$name>> do
    on_arm do<<with of (printf "%s-arm64" $os)>>
      url "<<.url>>"
      sha256 "<<.sum>>"<<end>>
    end
    on_intel do<<with of (printf "%s-amd64" $os)>>
      url "<<.url>>"
      sha256 "<<.sum>>"<<end>>
    end
  end
<<end>>
  def install
    bin.install "trinity"
  end

  test do
    assert_match "numerics", shell_output("#{bin}/trinity version")
  end
end
