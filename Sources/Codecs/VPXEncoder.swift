internal import CKoineVPX
internal import KoineBase

/// Owns one libvpx encoder.
struct VPXEncoder: ~Copyable {
  private let codec: UnsafeMutablePointer<vpx_codec_ctx_t>
  private let config: UnsafeMutablePointer<vpx_codec_enc_cfg_t>
  private let kind: VPXCodec
  private let layers: Int

  init(_ kind: VPXCodec, _ settings: VideoEncoderSettings, _ pattern: TemporalPattern) throws(CodecError) {
    self.kind = kind
    layers = pattern.layers
    let codec = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    let config = UnsafeMutablePointer<vpx_codec_enc_cfg_t>.allocate(capacity: 1)
    codec.initialize(to: vpx_codec_ctx_t())
    config.initialize(to: vpx_codec_enc_cfg_t())
    var status = vpx_codec_enc_config_default(kind.encoder, config, 0)
    if status == VPX_CODEC_OK {
      Self.fill(&config.pointee, kind, settings, pattern)
      status = koine_vpx_encoder_open(codec, kind.encoder, config)
    }
    guard status == VPX_CODEC_OK else {
      let error = CodecError(vpx: status, codec)
      _ = vpx_codec_destroy(codec)
      codec.deallocate()
      config.deallocate()
      throw error
    }
    self.codec = codec
    self.config = config
    tune(settings)
  }

  deinit {
    vpx_codec_destroy(codec)
    codec.deallocate()
    config.deallocate()
  }

  /// New rates for the same pictures.
  func apply(_ settings: VideoEncoderSettings, _ pattern: TemporalPattern) throws(CodecError) {
    Self.setRates(&config.pointee, kind, settings, pattern)
    let status = vpx_codec_enc_config_set(codec, config)
    guard status == VPX_CODEC_OK else { throw CodecError(vpx: status, codec) }
    limitKeyFrames(settings)
  }

  func encode(
    _ frame: VideoFrame, at time: EncoderClock.Time, step: TemporalPattern.Step, isKey: Bool,
    into blocks: inout CodedBlocks
  ) throws(CodecError) -> CodedPicture? {
    var flags = isKey ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : 0
    switch kind {
    case .vp8:
      flags |= vpx_enc_frame_flags_t(step.flags)
      if layers > 1 { _ = koine_vpx_set(codec, Int32(VP8E_SET_TEMPORAL_LAYER_ID.rawValue), Int32(step.layer)) }
    case .vp9: break  // keeps the pattern by itself
    }
    let status = frame.withPlanes { planes in
      // The encoder copies the planes before it returns; it never writes to them.
      var image = vpx_image_t()
      let luma = UnsafeMutablePointer(mutating: planes.y)
      vpx_img_wrap(&image, VPX_IMG_FMT_I420, UInt32(planes.width), UInt32(planes.height), 1, luma)
      image.planes.0 = luma
      image.planes.1 = UnsafeMutablePointer(mutating: planes.u)
      image.planes.2 = UnsafeMutablePointer(mutating: planes.v)
      image.stride.0 = Int32(planes.lumaStride)
      image.stride.1 = Int32(planes.chromaStride)
      image.stride.2 = Int32(planes.chromaStride)
      return vpx_codec_encode(codec, &image, time.start, time.duration, flags, UInt(VPX_DL_REALTIME))
    }
    guard status == VPX_CODEC_OK else { throw CodecError(vpx: status, codec) }
    return collect(step: step, into: &blocks)
  }

  private func collect(step: TemporalPattern.Step, into blocks: inout CodedBlocks) -> CodedPicture? {
    var iterator: vpx_codec_iter_t?
    var picture: CodedPicture?
    while let packet = vpx_codec_get_cx_data(codec, &iterator) {
      guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT, let bytes = packet.pointee.data.frame.buf else { continue }
      let data = UnsafeRawBufferPointer(start: bytes, count: packet.pointee.data.frame.sz)
      // Without look-ahead and spatial layers there is one packet to a frame.
      let block = blocks.take(data.count)
      block.append(data)
      let flags = packet.pointee.data.frame.flags
      let isKey = flags & vpx_codec_frame_flags_t(VPX_FRAME_IS_KEY) != 0
      picture = CodedPicture(
        data: block, isKey: isKey, temporalLayer: layer(of: step),
        isDiscardable: !isKey && (step.isDiscardable || flags & vpx_codec_frame_flags_t(VPX_FRAME_IS_DROPPABLE) != 0))
    }
    return picture
  }

  private func layer(of step: TemporalPattern.Step) -> Int {
    switch kind {
    case .vp8: return step.layer
    case .vp9:
      guard layers > 1 else { return step.layer }
      var layer: Int32 = 0
      _ = koine_vp9_temporal_layer(codec, &layer)
      return Int(layer)
    }
  }
}

// MARK: - Settings

extension VPXEncoder {
  /// The best and the worst quantizer. Where no frame may be left out, only the worst one there is keeps a low bitrate.
  private static func quantizers(_ settings: VideoEncoderSettings) -> (best: UInt32, worst: UInt32) {
    (settings.screenContent ? 8 : 2, settings.mayDropFrames ? 56 : 63)
  }

  private static func fill(
    _ config: inout vpx_codec_enc_cfg_t, _ kind: VPXCodec, _ settings: VideoEncoderSettings, _ pattern: TemporalPattern
  ) {
    config.g_w = UInt32(settings.width)
    config.g_h = UInt32(settings.height)
    config.g_threads = UInt32(settings.threads)
    config.g_timebase = vpx_rational_t(num: 1, den: 90_000)
    config.g_pass = VPX_RC_ONE_PASS
    config.g_lag_in_frames = 0
    config.g_error_resilient =
      settings.errorResilient || pattern.layers > 1 ? vpx_codec_er_flags_t(VPX_ERROR_RESILIENT_DEFAULT) : 0
    config.kf_mode = VPX_KF_DISABLED  // key frames are counted here, so that they begin the pattern of layers
    config.rc_end_usage = VPX_CBR
    config.rc_resize_allowed = 0
    config.rc_dropframe_thresh = settings.mayDropFrames ? 30 : 0
    (config.rc_min_quantizer, config.rc_max_quantizer) = quantizers(settings)
    config.rc_undershoot_pct = 100
    config.rc_overshoot_pct = 15
    // In milliseconds of the target rate: a second of debt at most, half of it free to begin with.
    config.rc_buf_initial_sz = 500
    config.rc_buf_optimal_sz = 600
    config.rc_buf_sz = 1_000
    config.ss_number_layers = 1
    setRates(&config, kind, settings, pattern)
  }

  private static func setRates(
    _ config: inout vpx_codec_enc_cfg_t, _ kind: VPXCodec, _ settings: VideoEncoderSettings, _ pattern: TemporalPattern
  ) {
    let kilobits = max(settings.bitrate / 1_000, 1)
    config.rc_target_bitrate = UInt32(kilobits)
    config.ts_number_layers = UInt32(pattern.layers)
    config.ts_periodicity = UInt32(pattern.steps.count)
    for layer in 0..<pattern.layers {
      koine_vpx_set_layer(
        &config, Int32(layer), UInt32(max(kilobits * pattern.share(upTo: layer) / 100, 1)),
        UInt32(pattern.decimator(of: layer)))
    }
    for (position, step) in pattern.steps.enumerated() {
      koine_vpx_set_layer_pattern(&config, Int32(position), UInt32(step.layer))
    }
    switch kind {
    case .vp8: break
    case .vp9:
      config.temporal_layering_mode =
        switch pattern.layers {
        case 2: Int32(VP9E_TEMPORAL_LAYERING_MODE_0101.rawValue)
        case 3: Int32(VP9E_TEMPORAL_LAYERING_MODE_0212.rawValue)
        default: Int32(VP9E_TEMPORAL_LAYERING_MODE_NOLAYERING.rawValue)
        }
    }
  }

  /// A key frame may take half of the optimal buffer, in percent of a frame's mean size, but three frames at least.
  private func limitKeyFrames(_ settings: VideoEncoderSettings) {
    let percent = max(300, Int(0.5 * 600 * min(settings.framesPerSecond, 240) / 10))
    _ = koine_vpx_set(codec, Int32(VP8E_SET_MAX_INTRA_BITRATE_PCT.rawValue), Int32(percent))
  }

  /// Sets the options that `vpx_codec_enc_cfg_t` has no field for. libvpx accepts each of these values, so errors are ignored.
  private func tune(_ settings: VideoEncoderSettings) {
    func set(_ control: vp8e_enc_control_id, _ value: Int) {
      _ = koine_vpx_set(codec, Int32(control.rawValue), Int32(value))
    }
    set(VP8E_SET_CPUUSED, settings.speed)
    set(VP8E_SET_STATIC_THRESHOLD, settings.screenContent ? 100 : 1)
    limitKeyFrames(settings)
    let partitions = settings.threads >= 8 ? 3 : settings.threads >= 4 ? 2 : settings.threads >= 2 ? 1 : 0
    switch kind {
    case .vp8:
      set(VP8E_SET_TOKEN_PARTITIONS, partitions)
      set(VP8E_SET_NOISE_SENSITIVITY, 0)
      set(VP8E_SET_SCREEN_CONTENT_MODE, settings.screenContent ? 1 : 0)
    case .vp9:
      set(VP9E_SET_TILE_COLUMNS, partitions)
      set(VP9E_SET_ROW_MT, settings.threads > 1 ? 1 : 0)
      set(VP9E_SET_AQ_MODE, 3)  // cyclic refresh: the quality of parts that stand still grows over time
      set(VP9E_SET_FRAME_PARALLEL_DECODING, 0)
      set(VP9E_SET_NOISE_SENSITIVITY, 0)
      set(VP9E_SET_TUNE_CONTENT, settings.screenContent ? 1 : 0)
      if layers > 1 {
        let range = Self.quantizers(settings)
        _ = koine_vp9_set_svc(codec, Int32(layers), Int32(range.best), Int32(range.worst))
      }
    }
  }
}

extension CodecError {
  init(vpx status: vpx_codec_err_t, _ codec: UnsafeMutablePointer<vpx_codec_ctx_t>) {
    let kind: Kind =
      switch status {
      case VPX_CODEC_CORRUPT_FRAME: .corruptInput
      case VPX_CODEC_UNSUP_BITSTREAM, VPX_CODEC_UNSUP_FEATURE, VPX_CODEC_INCAPABLE: .unsupported
      case VPX_CODEC_INVALID_PARAM: .invalidArgument
      default: .failed
      }
    let detail = vpx_codec_error_detail(codec) ?? vpx_codec_err_to_string(status)
    self.init(kind, detail.map { String(cString: $0) } ?? "libvpx status \(status.rawValue)")
  }
}
